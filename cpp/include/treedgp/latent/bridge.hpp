// BRIDGE: a move of a tree, or of a leaf's parameters, that takes the latents along. Given latents, or given omega, which
// tells much of them, a split can hardly come where the latent is smooth across it, nor a smooth latent where a split
// stands. So old and new are weighed by what they give the labels, latents integrated out: sites are fitted to the
// leaves that change, and an annealed importance estimate (Neal 2001) corrects from sites to labels, rising to the new
// latents, descending from the old ones (Karagiannis & Andrieu 2013). Whatever the sites, the move is exact.
#pragma once
#include "treedgp/latent/ellipses.hpp"
#include "treedgp/moves/ratio.hpp"

namespace treedgp {

constexpr int n_rungs = 16, n_sweeps = 6;
constexpr double sweep_gain = 0.7;    // with more, sites that start from nothing swing
constexpr double screen_power = 0.5;  // of the learned sites, which have grown up with one tree and think well of it

// What a leaf gives to sites: the integral of the prior of its latents times the sites' densities, whose maxima are 1.
// Leaves the factor that Ellipses need.
inline double log_site_integral(const Leaf& leaf, const Response& sites, const Problem& problem, const Hyper& h,
                                Workspace& ws) {
  const auto& rows = leaf.region->rows;
  Whitened whitened;
  whiten(problem.data, sites, rows, leaf.params, *leaf.basis, ws, whitened);
  double sum = log_marginal_given(whitened, leaf.params.sigma2, leaf.params.tau2, problem.spec.coefficients, h);
  for (int i : rows) sum += 0.5 * std::log(2 * std::numbers::pi * sites.noise[i]);
  return sum;
}

// The latents of a tree's classes, first .. first + count - 1, apart from the state; those of other trees as they stand.
struct Trial {
  Trial(const std::vector<const Layer*>& now, int first, std::size_t count) : layers(now) {
    own.reserve(count);
    for (std::size_t l = 0; l < count; ++l) {
      const Layer& layer = *now[first + l];
      own.push_back({.hyper = layer.hyper, .sites = layer.sites, .response = layer.response});
      layers[first + l] = &own[l];
    }
  }

  Trial(const Trial&) = delete;  // layers point into own

  // Forgets the latents: what must not know them sees 0.
  void forget() {
    for (Layer& layer : own) std::fill(layer.response.z.begin(), layer.response.z.end(), 0.0);
  }

  std::vector<Layer> own;  // without leaves
  std::vector<const Layer*> layers;
};

// What stands on the same rows: a leaf of each class of a tree.
using Leaves = std::vector<const Leaf*>;

// Sites for leaves, by class. They must not know the latents that move, so classes see each other where sites put them.
inline std::vector<Response> fit_sites(const Leaves& leaves, int first, const Trial& trial, const Problem& problem,
                                       Workspace& ws) {
  const int count = static_cast<int>(leaves.size()), sweeps = count > 1 ? 2 * n_sweeps : n_sweeps;
  const auto& rows = leaves[0]->region->rows;
  Trial guess(trial.layers, first, leaves.size());
  guess.forget();
  for (Layer& layer : guess.own) std::fill(layer.sites.begin(), layer.sites.end(), Site{});
  for (int k = 0; k < sweeps; ++k)
    for (int l = 0; l < count; ++l) {
      const Matrix latent = learn_sites(guess.own[l].sites, *leaves[l], first + l, guess.layers, problem, sweep_gain, ws);
      for (int i = 0; i < latent.rows; ++i) guess.own[l].response.z[rows[i]] = latent(i, 0);
    }
  std::vector<Response> out;
  for (int l = 0; l < count; ++l) {
    out.push_back(site_data(guess.own[l].sites, *leaves[l], first + l, guess.layers));
    for (double& v : out[l].noise) v *= count;  // wider, for what moves in all classes at once
  }
  return out;
}

// log of an estimate of p(labels | leaves, classes of other trees). `rise`: the latents of `trial` are drawn; else they
// are given, and the estimate is that of the reverse of such a rise.
template <class Rng>
double log_bridge(const Leaves& leaves, int first, const Problem& problem, bool rise, Trial& trial, Workspace& ws,
                  Rng& rng) {
  const int count = static_cast<int>(leaves.size());
  const std::vector<Response> sites = fit_sites(leaves, first, trial, problem, ws);
  double sum = 0;
  std::vector<Ellipses> ellipses;
  std::vector<Vector> f;  // less the mean of their law
  for (int l = 0; l < count; ++l) {
    sum += log_site_integral(*leaves[l], sites[l], problem, trial.own[l].hyper, ws);
    factor_prior(*leaves[l], ws);
    ellipses.emplace_back(*leaves[l], first + l, trial.layers, problem, sites[l], n_rungs + (rise ? 1 : 0), ws, rng);
    f.push_back(rise ? ellipses[l].draw() : ellipses[l].centred(trial.own[l].response.z));
    ellipses[l].write(f[l], trial.own[l].response.z);
  }
  auto log_gap = [&] {  // from sites to labels
    double gap = 0;
    for (int i : leaves[0]->region->rows) gap += log_label(problem, trial.layers, first, i, trial.own[0].response.z[i]);
    for (int l = 0; l < count; ++l) gap -= ellipses[l].log_sites(f[l]);
    return gap;
  };
  for (int k = 1; k <= n_rungs; ++k) {
    if (rise) sum += log_gap() / n_rungs;
    for (int t = 0; t < count; ++t) {
      const int l = rise ? t : count - 1 - t;  // the reverse of a rise is in reverse order
      ellipses[l].face(trial.layers);
      ellipses[l].step(f[l], static_cast<double>(rise ? k : n_rungs + 1 - k) / n_rungs, rng);
      ellipses[l].write(f[l], trial.own[l].response.z);
    }
    if (!rise) sum += log_gap() / n_rungs;
  }
  return sum;
}

// By how much the learned sites favour the next leaves, in log. As in fit_sites(), no latent that moves may count.
inline double log_screen(const State& s, const Proposal& next, int first, const std::vector<const Layer*>& layers,
                         const Problem& problem, Workspace& ws) {
  Trial blank(layers, first, s.layers.size());
  blank.forget();
  double sum = 0;
  for (std::size_t l = 0; l < s.layers.size(); ++l) {
    const int m = first + static_cast<int>(l);
    const Layer& layer = s.layers[l];
    auto log_integral = [&](const Leaf& leaf) {
      return log_site_integral(leaf, site_data(layer.sites, leaf, m, blank.layers), problem, layer.hyper, ws);
    };
    for (const Leaf& leaf : next.leaves[l]) sum += log_integral(leaf);
    for (int i = next.first; i < next.first + next.removed; ++i) sum -= log_integral(layer.leaves[i]);
  }
  return sum;
}

// The first word on a move: that of the learned sites, which cost little. What it has counted, the ratio counts no more
// (Christen & Fox 2005).
template <class Rng>
bool passes_screen(const State& s, Proposal& next, int first, const std::vector<const Layer*>& layers,
                   const Problem& problem, Workspace& ws, Rng& rng) {
  next.ratio.likelihood = screen_power * log_screen(s, next, first, layers, problem, ws);
  const bool passes = accept(next.ratio, 1, rng);
  next.ratio = {.likelihood = -next.ratio.likelihood};
  return passes;
}

// Decides on a move of or in the tree whose first layer is that of class `first`. If it is made the state has its
// latents too. `screened`: most moves are hopeless, and a screen drops them.
template <class Rng>
bool cross_bridge(State& s, Proposal&& next, int first, const std::vector<const Layer*>& layers, const Problem& problem,
                  bool screened, Workspace& ws, Rng& rng) {
  double& likelihood = next.ratio.likelihood;
  if (!std::isfinite(next.ratio.total(1))) return false;  // density zero, for one where K does not factorise
  likelihood = 0;  // in place of that of the latents as they stand
  if (screened && !passes_screen(s, next, first, layers, problem, ws, rng)) return false;
  const std::size_t count = s.layers.size();
  Trial rising(layers, first, count), falling(layers, first, count);
  Leaves leaves(count);
  for (std::size_t i = 0; i < next.leaves[0].size(); ++i) {
    for (std::size_t l = 0; l < count; ++l) leaves[l] = &next.leaves[l][i];
    likelihood += log_bridge(leaves, first, problem, true, rising, ws, rng);
  }
  for (int i = next.first; i < next.first + next.removed; ++i) {
    for (std::size_t l = 0; l < count; ++l) leaves[l] = &s.layers[l].leaves[i];
    likelihood -= log_bridge(leaves, first, problem, false, falling, ws, rng);
  }
  if (!std::isfinite(likelihood) || !accept(next.ratio, 1, rng)) return false;
  commit(s, std::move(next));
  for (std::size_t l = 0; l < count; ++l) {
    s.layers[l].response = std::move(rising.own[l].response);
    refit(s.layers[l], problem, ws);
  }
  return true;
}

}  // namespace treedgp
