// One round of classification. In the turn of class m its own tree, or the tree that all share, and its parameters
// move; then its latent f_m; then variances and coefficients, of every layer of that tree since all are stale. Before the
// turns one factor scales the latents of all.
//
// polya_gamma: omega_i ~ PG(1, f_mi - c_i) makes the labels Gaussian data y_i ~ N(f_mi, 1 / omega_i) of f_m, so that the
// moves integrate f_m out and see the labels. metropolis: the moves see f_m as it stands, which then moves in blocks.
#pragma once
#include "treedgp/latent/bridge.hpp"
#include "treedgp/latent/gaussian.hpp"
#include "treedgp/latent/metropolis.hpp"
#include "treedgp/latent/polya_gamma.hpp"
#include "treedgp/latent/scale.hpp"
#include "treedgp/moves/renew.hpp"
#include "treedgp/round/round.hpp"

namespace treedgp {

// The labels as Gaussian data of f_m. Annealing by k: omega ~ PG(1, sqrt(k) (f - c)), noise 1 / (k omega).
template <class Rng>
Response augment(const std::vector<const Layer*>& layers, int m, const Classes& classes, double k, Rng& rng) {
  const Vector& f = layers[m]->response.z;
  Response y{Vector(f.size()), Vector(f.size())};
  for (std::size_t i = 0; i < f.size(); ++i) {
    const double c = log_sum_others(layers, static_cast<int>(i), m);
    const double omega = draw_polya_gamma(std::sqrt(k) * (f[i] - c), rng);
    y.z[i] = c + (classes.label[i] == m ? 0.5 : -0.5) / omega;
    y.noise[i] = 1 / (k * omega);
  }
  return y;
}

// The parameters of one leaf and class, over a bridge: a class that is flat in a leaf, where another does its work, would
// hardly bend otherwise.
template <class Rng>
bool renew_leaf(State& s, int first, const std::vector<const Layer*>& layers, const Problem& problem, Workspace& ws,
                Rng& rng) {
  const Layer& layer = s.layers[rng.pick(static_cast<int>(s.layers.size()))];
  const int index = rng.pick(static_cast<int>(layer.leaves.size()));
  const double now = log_fit(problem, layer.leaves[index], layer.hyper);
  LeafProposal next = propose_renewal(layer, problem, ws, index, now, rng);
  return cross_bridge(s, within_tree(s, layer, index, std::move(next)), first, layers, problem, false, ws, rng);
}

// The latents with what stands above them: the scale of all and, in the turn of its first class, the tree and a leaf.
template <class Rng>
void move_with_latents(State& s, Layer& layer, int m, const std::vector<const Layer*>& layers, const Problem& problem,
                       Workspace& ws, const Tempo& tempo, bool slides, Counts& counts, Rng& rng) {
  if (problem.spec.sigma2.learn_g)
    counts.steps[latent_scale_step].add(scale_latents(layer, layer.leaves, true, m, layers, problem, tempo.anneal, rng));
  if (!slides || !tempo.bridges || &layer != &s.layers[0]) return;
  if (layers.size() > 1 && !tempo.screened)  // of two classes none can do another's work
    counts.steps[range_step].add(renew_leaf(s, m, layers, problem, ws, rng));
  if (problem.spec.split.alpha == 0) return;
  // Else the latents of the other classes hold a tree that they share.
  const int bridges = s.layers.size() > 1 && !tempo.screened ? 3 : 1;
  for (int t = 0; t < bridges; ++t) {
    const auto move = static_cast<TreeMove>(rng.pick_weighted(problem.spec.schedule.weights));
    auto next = propose_tree_move(move, s, problem, ws, rng);
    const bool made = next && cross_bridge(s, std::move(*next), m, layers, problem, tempo.screened, ws, rng);
    counts.tree[static_cast<int>(move)].add(made);
  }
}

// The latents of each leaf, and their scale.
template <class Rng>
void move_within_leaves(Layer& layer, const Response& y, int m, const std::vector<const Layer*>& layers, const Problem& problem,
                        Workspace& ws, const Tempo& tempo, bool slides, Counts& counts, Rng& rng) {
  for (Leaf& leaf : layer.leaves) {
    factor_prior(leaf, ws);
    draw_latent(layer, leaf, y, problem, ws, rng);
    if (slides) {
      if (tempo.site_gain > 0) learn_sites(layer.sites, leaf, m, layers, problem, tempo.site_gain, ws);
      slide_latents(layer, leaf, m, layers, problem, ws, rng);
    }
    const bool accepted = scale_latents(layer, {&leaf, 1}, false, m, layers, problem, tempo.anneal, rng);
    counts.steps[latent_scale_step].add(accepted);
    tempo.adapt(layer.log_step[latent_scale_step], accepted);
    fit_to_latent(leaf, problem, layer, ws);
  }
}

// `slides`: the latents also slide on ellipses, and trees over bridges.
template <class Rng>
void play_turn(State& s, Layer& layer, int m, const std::vector<const Layer*>& layers, const Problem& problem,
               Workspace& ws, const Tempo& tempo, bool slides, Counts& counts, Rng& rng) {
  const bool collapsed = problem.classes.sampler == LatentSampler::polya_gamma;
  Tempo now = tempo;
  if (collapsed) {
    now.anneal = 1;  // the noise is annealed instead
    move_with_latents(s, layer, m, layers, problem, ws, tempo, slides, counts, rng);
    layer.response = augment(layers, m, problem.classes, tempo.anneal, rng);
    refit(layer, problem, ws);
  }
  move_trees(s, problem, ws, now, counts, rng);
  move_leaves(layer, problem, ws, now, counts, rng);
  if (collapsed) {
    const Response y = std::exchange(layer.response, {Vector(problem.data.n), {}});
    move_within_leaves(layer, y, m, layers, problem, ws, tempo, slides, counts, rng);
  }
  for (Layer& every : s.layers) draw_coefficients(every, problem, ws, now, counts, rng);
  if (!collapsed) {
    move_latents(layer, m, layers, problem, ws, [&](bool accepted) { counts.latents.add(accepted); }, rng);
    refit(layer, problem, ws);
  }
}

template <class Rng>
void play_round(Trees& trees, const Problem& problem, Workspace& ws, const Tempo& tempo, Counts& counts, Rng& rng) {
  if (problem.classes.n_latents() == 0) return play_round(trees[0], problem, ws, tempo, counts, rng);
  const auto layers = latents(trees);
  for (int sweep = 0; sweep < problem.spec.schedule.latent_sweeps; ++sweep) {
    const bool slides = sweep == 0 && tempo.anneal == 1;  // once a round, for its cost
    const bool scales = tempo.gain == 0 && layers.size() > 1;  // in tuning it would hold up the trees
    if (scales && problem.classes.sampler == LatentSampler::polya_gamma)
      counts.steps[latent_scale_step].add(scale_classes(trees, problem, ws, rng));
    int m = 0;
    for (State& s : trees)
      for (Layer& layer : s.layers) play_turn(s, layer, m++, layers, problem, ws, tempo, slides, counts, rng);
  }
}

}  // namespace treedgp
