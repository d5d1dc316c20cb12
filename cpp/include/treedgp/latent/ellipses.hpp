// ELLIPSES: elliptical slice sampling of a leaf's latents (Murray, Adams & MacKay 2010) about their law N(mean, R) given
// the sites, which is near that given the labels (Fagan, Bhandari & Cunningham 2016). A step draws a point v of that law
// and a level under the current density, then slides f round the ellipse through f and v until it is above the level.
// Polya-Gamma draws alone crawl where labels are well separated: omega then tells f to within a few per cent.
#pragma once
#include "treedgp/latent/gaussian.hpp"
#include "treedgp/latent/metropolis.hpp"
#include "treedgp/latent/sites.hpp"

namespace treedgp {

// The latents of a leaf given sites, and the labels' part in them.
class Ellipses {
 public:
  // `draws`: how many steps are to be taken. After factor_prior(), and with the factor given the sites in ws.factor.
  template <class Rng>
  Ellipses(const Leaf& leaf, int m, const std::vector<const Layer*>& layers, const Problem& problem, const Response& sites,
           int draws, Workspace& ws, Rng& rng)
      : rows_(leaf.region->rows), n_(static_cast<int>(rows_.size())), m_(m),
        law_(mean_and_draws(problem, leaf, sites, &ws.factor, draws, layers[m]->hyper, ws, rng)), points_(n_), next_(n_) {
    for (int i = 0; i < n_; ++i) {
      const int row = rows_[i];
      const double sign = problem.classes.label[row] == m ? 1 : -1;
      points_[i] = {sign, 0, sites.z[row] - law_(i, 0), 0.5 / sites.noise[row]};
    }
    face(layers);
  }

  // The other classes as they now are.
  void face(const std::vector<const Layer*>& layers) {
    for (int i = 0; i < n_; ++i) points_[i].lead = law_(i, 0) - log_sum_others(layers, rows_[i], m_);
  }

  // Latents from and to the rows of the whole; between they are less the law's mean.
  Vector centred(const Vector& z) const {
    Vector f(n_);
    for (int i = 0; i < n_; ++i) f[i] = z[rows_[i]] - law_(i, 0);
    return f;
  }
  void write(const Vector& f, Vector& z) const {
    for (int i = 0; i < n_; ++i) z[rows_[i]] = law_(i, 0) + f[i];
  }

  // The next draw of the law.
  Vector draw() {
    Vector f(n_);
    ++used_;
    for (int i = 0; i < n_; ++i) f[i] = law_(i, used_) - law_(i, 0);
    return f;
  }

  // log of the sites' density, whose maximum is 1.
  double log_sites(const Vector& f) const {
    double sum = 0;
    for (int i = 0; i < n_; ++i) sum -= points_[i].half_precision * (points_[i].site - f[i]) * (points_[i].site - f[i]);
    return sum;
  }

  // log of the labels' probability over the sites' density, up to a constant of the rows: log sigmoid(+-(f - others)), one
  // exponential a point.
  double log_density(const Vector& f) const {
    double sum = 0, product = 1;
    for (int i = 0; i < n_; ++i) {
      const Point& p = points_[i];
      const double lead = p.sign * (p.lead + f[i]), off = p.site - f[i];
      sum += std::min(lead, 0.0) + p.half_precision * off * off;
      product *= 1 + std::exp(-std::abs(lead));
      if (i % 512 == 511) sum -= std::log(std::exchange(product, 1.0));  // below 2^512
    }
    return sum - std::log(product);
  }

  // A step of f under the law times the density to the power `power`.
  template <class Rng>
  void step(Vector& f, double power, Rng& rng) {
    const Vector v = draw();
    const double level = power * log_density(f) - rng.exponential();
    double angle = 2 * std::numbers::pi * rng.uniform(), low = angle - 2 * std::numbers::pi, high = angle;
    for (;;) {
      const double c = std::cos(angle), s = std::sin(angle);
      for (int i = 0; i < n_; ++i) next_[i] = c * f[i] + s * v[i];
      if (power * log_density(next_) > level) return f.swap(next_);
      if (!(high - low > 1e-12)) return;  // the density is not a number: stay
      (angle < 0 ? low : high) = angle;
      angle = low + rng.uniform() * (high - low);
    }
  }

 private:
  struct Point {
    double sign;  // +1 if the label is m
    double lead;  // of the law's mean over the other classes
    double site, half_precision;
  };

  const std::vector<int>& rows_;
  int n_, m_, used_ = 0;
  Matrix law_;  // mean, then draws
  std::vector<Point> points_;
  Vector next_;
};

constexpr int n_ellipses = 6;  // a turn; they share a factorisation

// After factor_prior().
template <class Rng>
void slide_latents(Layer& layer, const Leaf& leaf, int m, const std::vector<const Layer*>& layers, const Problem& problem,
                   Workspace& ws, Rng& rng) {
  const Response sites = site_data(layer.sites, leaf, m, layers);
  if (!leaf.params.linear()) factor_leaf(leaf, sites, ws, ws.factor);
  Ellipses ellipses(leaf, m, layers, problem, sites, n_ellipses, ws, rng);
  Vector f = ellipses.centred(layer.response.z);
  for (int k = 0; k < n_ellipses; ++k) ellipses.step(f, 1, rng);
  ellipses.write(f, layer.response.z);
}

}  // namespace treedgp
