// BRIDGE: a tree move that takes the latents along. Given latents, or given omega, which tells much of them, a split
// can hardly come where the latent is smooth across it, nor a smooth latent where a split stands. So both trees are
// weighed by what they give the labels, latents integrated out: sites are fitted to the leaves that change, and an
// annealed importance estimate (Neal 2001) corrects from sites to labels, rising to the new latents, descending from
// the old ones (Karagiannis & Andrieu 2013). Whatever the sites, the move is exact.
#pragma once
#include "treedgp/latent/ellipses.hpp"
#include "treedgp/moves/ratio.hpp"

namespace treedgp {

constexpr int n_rungs = 16, n_sweeps = 4;

// What a leaf gives to sites: the integral of the prior of its latents times the sites' densities, whose maxima are 1.
inline double log_sites(const Leaf& leaf, const Response& sites, const Problem& problem, const Hyper& h,
                        Workspace& ws) {
  const auto& rows = leaf.region->rows;
  Whitened whitened;
  whiten(problem.data, sites, rows, leaf.params, *leaf.basis, ws, whitened);
  double sum = log_marginal_given(whitened, leaf.params.sigma2, leaf.params.tau2, problem.spec.coefficients, h);
  for (int i : rows) sum += 0.5 * std::log(2 * std::numbers::pi * sites.noise[i]);
  return sum;
}

// log of an estimate of p(labels | leaf, other classes), up to a constant of the rows. `rise`: the latents `f` are
// drawn; else they are given, and the estimate is that of the reverse of such a rise.
template <class Rng>
double log_bridge(const Leaf& leaf, int m, const std::vector<const Layer*>& layers, const Problem& problem, bool rise,
                  Vector& f, Workspace& ws, Rng& rng) {
  Sites sites = layers[m]->sites;
  for (int k = 0; k < n_sweeps; ++k)  // by ever smaller steps, lest they swing
    learn_sites(sites, leaf, m, layers, problem, 1 - 0.5 * k / (n_sweeps - 1), ws);
  const Response data = site_data(sites, leaf, m, layers);
  double sum = log_sites(leaf, data, problem, layers[m]->hyper, ws);

  factor_prior(leaf, ws);
  Ellipses ellipses(leaf, m, layers, problem, data, n_rungs + (rise ? 1 : 0), ws, rng);
  Vector at = rise ? ellipses.draw() : ellipses.centred(f);
  for (int k = 1; k <= n_rungs; ++k) {
    if (rise) sum += ellipses.log_density(at) / n_rungs;
    ellipses.step(at, static_cast<double>(rise ? k : n_rungs + 1 - k) / n_rungs, rng);
    if (!rise) sum += ellipses.log_density(at) / n_rungs;
  }
  if (rise) ellipses.write(at, f);
  return sum;
}

// Decides on a tree move of class m, which has its tree for itself. If it is made the state has its latents too.
template <class Rng>
bool cross_bridge(State& s, Proposal&& next, int m, const std::vector<const Layer*>& layers, const Problem& problem,
                  Workspace& ws, Rng& rng) {
  if (!std::isfinite(next.ratio.total(1))) return false;  // density zero, for one where K does not factorise
  Layer& layer = s.layers[0];
  Vector f = layer.response.z;
  double& likelihood = next.ratio.likelihood = 0;  // in place of that of the latents as they stand
  for (const Leaf& leaf : next.leaves[0]) likelihood += log_bridge(leaf, m, layers, problem, true, f, ws, rng);
  for (int i = next.first; i < next.first + next.removed; ++i)
    likelihood -= log_bridge(layer.leaves[i], m, layers, problem, false, layer.response.z, ws, rng);
  if (!std::isfinite(likelihood) || !accept(next.ratio, 1, rng)) return false;
  commit(s, std::move(next));
  layer.response.z = std::move(f);
  return true;
}

}  // namespace treedgp
