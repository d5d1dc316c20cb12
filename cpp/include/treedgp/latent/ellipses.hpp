// ELLIPSES: elliptical slice sampling of a leaf's latents (Murray, Adams & MacKay 2010) about their law N(mean, R) given
// the sites, which is near that given the labels (Fagan, Bhandari & Cunningham 2016). A step draws a point v of that law
// and a level under the current density, then slides f round the ellipse through f and v until it is above the level.
// Polya-Gamma draws alone crawl where labels are well separated: omega then tells f to within a few per cent.
#pragma once
#include "treedgp/latent/gaussian.hpp"
#include "treedgp/latent/metropolis.hpp"
#include "treedgp/latent/sites.hpp"

namespace treedgp {

constexpr int n_ellipses = 8;  // a turn; they share a factorisation

// After factor_prior().
template <class Rng>
void slide_latents(Layer& layer, const Leaf& leaf, int m, const std::vector<const Layer*>& layers, const Problem& problem,
                   Workspace& ws, Rng& rng) {
  const auto& rows = leaf.region->rows;
  const int n = static_cast<int>(rows.size());
  const Response data = site_data(layer, leaf, m, layers);
  const Matrix law = mean_and_draws(problem, leaf, data, n_ellipses, layer.hyper, ws, rng);
  Vector others(n), f(n), next(n);
  for (int i = 0; i < n; ++i) {
    others[i] = log_sum_others(layers, rows[i], m);
    f[i] = layer.response.z[rows[i]] - law(i, 0);
  }
  // Of the labels over the sites, up to a constant, for latents at `at` from the mean.
  auto log_density = [&](const Vector& at) {
    double sum = 0;
    for (int i = 0; i < n; ++i) {
      const double value = law(i, 0) + at[i], off = data.z[rows[i]] - value;
      sum += (problem.classes.label[rows[i]] == m ? value : 0) - log_add(others[i], value) +
             0.5 * off * off / data.noise[rows[i]];
    }
    return sum;
  };

  double current = log_density(f);
  for (int k = 1; k <= n_ellipses; ++k) {
    const double level = current - rng.exponential();
    double angle = 2 * std::numbers::pi * rng.uniform(), low = angle - 2 * std::numbers::pi, high = angle;
    for (;;) {
      for (int i = 0; i < n; ++i) next[i] = std::cos(angle) * f[i] + std::sin(angle) * (law(i, k) - law(i, 0));
      const double density = log_density(next);
      if (density > level) {
        f.swap(next);
        current = density;
        break;
      }
      if (!(high - low > 1e-12)) break;  // the density is not a number: stay
      (angle < 0 ? low : high) = angle;
      angle = low + rng.uniform() * (high - low);
    }
  }
  for (int i = 0; i < n; ++i) layer.response.z[rows[i]] = law(i, 0) + f[i];
}

}  // namespace treedgp
