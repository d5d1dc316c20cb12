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

// Of class m: its tree, or the one that all share, and its layer there.
struct Turn {
  State& tree;
  Layer& layer;
  int m;
  const std::vector<const Layer*>& layers;  // of every class but the base
  const Problem& problem;
  Workspace& ws;
  const Tempo& tempo;
  bool slides;  // the latents also slide on ellipses, and trees over bridges
  Counts& counts;

  template <class Rng>
  bool scale(std::span<Leaf> leaves, bool with_hyper, Rng& rng) const {
    const bool accepted = scale_latents(layer, leaves, with_hyper, m, layers, problem, tempo.anneal, rng);
    counts.steps[latent_scale_step].add(accepted);
    return accepted;
  }

  template <class Rng>
  bool cross(Proposal&& next, bool screened, Rng& rng) const {
    return cross_bridge(tree, std::move(next), m, layers, problem, screened, ws, rng);
  }
};

// The parameters of one leaf and class, over a bridge. Else a class that is flat in a leaf, where another does its work,
// would hardly bend; nor would a leaf take back a column that it has dropped where alike ranges hold each other short.
template <class Rng>
bool renew_leaf(const Turn& turn, Rng& rng) {
  const Layer& layer = turn.tree.layers[rng.pick(static_cast<int>(turn.tree.layers.size()))];
  const int index = rng.pick(static_cast<int>(layer.leaves.size()));
  const double now = log_fit(turn.problem, layer.leaves[index], layer.hyper);
  LeafProposal next = propose_renewal(layer, turn.problem, turn.ws, index, now, rng);
  return turn.cross(within_tree(turn.tree, layer, index, std::move(next)), false, rng);
}

// The latents with what stands above them: the scale of all and, in the turn of its first class, the tree and a leaf.
template <class Rng>
void move_with_latents(const Turn& turn, Rng& rng) {
  const Spec& spec = turn.problem.spec;
  const std::vector<Layer>& layers = turn.tree.layers;
  const bool screened = turn.tempo.screened;
  if (spec.sigma2.learn_g) turn.scale(turn.layer.leaves, true, rng);
  if (!turn.slides || !turn.tempo.bridges || &turn.layer != &layers[0]) return;
  if ((turn.layers.size() > 1 || spec.leaf.range.alike()) && !screened)
    turn.counts.steps[range_step].add(renew_leaf(turn, rng));
  if (spec.split.alpha == 0) return;
  // Else the latents of the other classes hold a tree that they share.
  const int bridges = layers.size() > 1 && !screened ? 3 : 1;
  for (int t = 0; t < bridges; ++t) {
    const auto move = static_cast<TreeMove>(rng.pick_weighted(spec.schedule.weights));
    auto next = propose_tree_move(move, turn.tree, turn.problem, turn.ws, rng);
    turn.counts.tree[static_cast<int>(move)].add(next && turn.cross(std::move(*next), screened, rng));
  }
}

// The latents of each leaf, and their scale.
template <class Rng>
void move_within_leaves(const Turn& turn, const Response& y, Rng& rng) {
  const auto& [tree, layer, m, layers, problem, ws, tempo, slides, counts] = turn;
  for (Leaf& leaf : layer.leaves) {
    factor_prior(leaf, ws);
    draw_latent(layer, leaf, y, problem, ws, rng);
    if (slides) {
      if (tempo.site_gain > 0) learn_sites(layer.sites, leaf, m, layers, problem, tempo.site_gain, ws);
      slide_latents(layer, leaf, m, layers, problem, ws, rng);
    }
    tempo.adapt(layer.log_step[latent_scale_step], turn.scale({&leaf, 1}, false, rng));
    fit_to_latent(leaf, problem, layer, ws);
  }
}

template <class Rng>
void play_turn(const Turn& turn, Rng& rng) {
  const auto& [tree, layer, m, layers, problem, ws, tempo, slides, counts] = turn;
  const bool collapsed = problem.classes.sampler == LatentSampler::polya_gamma;
  Tempo now = tempo;
  if (collapsed) {
    now.anneal = 1;  // the noise is annealed instead
    move_with_latents(turn, rng);
    layer.response = augment(layers, m, problem.classes, tempo.anneal, rng);
    refit(layer, problem, ws);
  }
  move_trees(tree, problem, ws, now, counts, rng);
  move_leaves(layer, problem, ws, now, counts, rng);
  if (collapsed) {
    const Response y = std::exchange(layer.response, {Vector(problem.data.n), {}});
    move_within_leaves(turn, y, rng);
  }
  for (Layer& every : tree.layers) draw_coefficients(every, problem, ws, now, counts, rng);
  if (!collapsed) {
    move_latents(layer, m, layers, problem, ws, [&](bool accepted) { turn.counts.latents.add(accepted); }, rng);
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
      for (Layer& layer : s.layers) play_turn(Turn{s, layer, m++, layers, problem, ws, tempo, slides, counts}, rng);
  }
}

}  // namespace treedgp
