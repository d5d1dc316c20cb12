// treedgp._testing: the shipped core, opened up for the exact tests. Not part of a release build.
#include "../bind/problem.hpp"
#include "../bind/state.hpp"
#include "enumerator.hpp"

void bind_kernel(nanobind::module_& m);
void bind_latent(nanobind::module_& m);

namespace treedgp::testing {

using namespace treedgp::bind;

nb::dict ratio_to_dict(const LogRatio& r) {
  nb::dict out;
  out["likelihood"] = r.likelihood;
  out["tree_prior"] = r.tree_prior;
  out["rule_prior"] = r.rule_prior;
  out["params_prior"] = r.params_prior;
  out["q_forward"] = r.q_forward;
  out["q_reverse"] = r.q_reverse;
  out["log_jacobian"] = r.log_jacobian;
  out["total"] = r.total(1);
  return out;
}

const char* const tree_moves[] = {"grow", "prune", "change", "shift", "swap", "rotate"};

// A move by name on a state; those of a single leaf move leaf `index` of layer `turn`.
template <class Rng>
std::optional<Proposal> propose(const std::string& move, const State& s, const Problem& problem, Workspace& ws,
                                int index, int turn, Rng& rng) {
  for (int i = 0; i < n_tree_moves; ++i)
    if (move == tree_moves[i]) return propose_tree_move(static_cast<TreeMove>(i), s, problem, ws, rng);
  const Layer& layer = s.layers.at(turn);
  if (index < 0 || index >= static_cast<int>(layer.leaves.size())) throw std::invalid_argument("no such leaf");
  const double now = log_fit(problem, layer.leaves[index], layer.hyper);
  LeafProposal next = [&] {
    if (move == "range") return propose_range(layer, problem, ws, index, now, rng);
    if (move == "common range") return propose_common_range(layer, problem, ws, index, now, rng);
    if (move == "nugget") return propose_nugget(layer, problem, ws, index, now, rng);
    if (move == "sigma2") return propose_sigma2(layer, problem, ws, index, now, rng);
    if (move == "tau2") return propose_tau2(layer, problem, ws, index, now, rng);
    if (move == "renew") return propose_renewal(layer, problem, ws, index, now, rng);
    throw std::invalid_argument("unknown move: " + move);
  }();
  return within_tree(s, layer, index, std::move(next));
}

// The one tree of a chain, in the middle of a turn of class `turn` if `y` and `noise` are given: its response is then
// y, with noise of its own.
Trees restore_one(const Problem& problem, const nb::list& state, int turn, const nb::object& y, const nb::object& noise) {
  Trees trees = StateIn(state, problem).restore(problem);
  if (trees.size() != 1) throw std::invalid_argument("expected a state with one tree");
  if (y.is_none()) return trees;
  const auto z = nb::cast<In<double>>(y), nu = nb::cast<In<double>>(noise);
  Layer& layer = trees[0].layers.at(turn);
  layer.response = {Vector(z.data(), z.data() + z.size()), Vector(nu.data(), nu.data() + nu.size())};
  Workspace ws;
  refit(layer, problem, ws);
  return trees;
}

nb::object proposal_to_python(const Trees& trees, const Problem& problem, std::optional<Proposal> proposal) {
  if (!proposal) return nb::none();
  Trees next = trees;
  const LogRatio ratio = proposal->ratio;
  commit(next[0], std::move(*proposal));
  return nb::make_tuple(ratio_to_dict(ratio), state_to_list(next, problem));
}

// Every branch of a move: [(probability, None | (ratio, next state))].
nb::list enumerate(const Problem& problem, const nb::list& state, const std::string& move, int index, int turn,
                   const nb::object& y, const nb::object& noise) {
  Workspace ws;
  const Trees trees = restore_one(problem, state, turn, y, noise);
  nb::list out;
  Enumerator rng;
  do {
    nb::object branch = proposal_to_python(trees, problem, propose(move, trees[0], problem, ws, index, turn, rng));
    out.append(nb::make_tuple(rng.probability(), branch));
  } while (rng.next());
  return out;
}

// One random proposal: None | (ratio, next state).
nb::object propose_once(const Problem& problem, const nb::list& state, const std::string& move, int index,
                        std::uint64_t seed, int turn, const nb::object& y, const nb::object& noise) {
  Workspace ws;
  const Trees trees = restore_one(problem, state, turn, y, noise);
  Random rng(seed, 0);
  rng.start_round(0);
  return proposal_to_python(trees, problem, propose(move, trees[0], problem, ws, index, turn, rng));
}

// Of the leaves of a chain's only layer.
nb::dict leaf_terms(const Problem& problem, const nb::list& state) {
  const Trees trees = StateIn(state, problem).restore(problem);
  const Layer& s = trees[0].layers[0];
  std::vector<double> marginal, lambda, mean, log_det;
  for (const Leaf& leaf : s.leaves) {
    const auto post = coefficient_posterior(leaf.data, leaf.params.tau2, problem.spec.coefficients, s.hyper);
    marginal.push_back(log_marginal(problem, leaf, s.hyper));
    lambda.push_back(post.lambda);
    log_det.push_back(leaf.data.log_det);
    mean.insert(mean.end(), post.mean.begin(), post.mean.end());
  }
  nb::dict out;
  const std::size_t n = s.leaves.size(), m = problem.data.m();
  out["marginal"] = to_numpy(std::move(marginal), {n});
  out["lambda"] = to_numpy(std::move(lambda), {n});
  out["log_det"] = to_numpy(std::move(log_det), {n});
  out["mean"] = to_numpy(std::move(mean), {n, m});
  out["log_posterior"] = log_posterior(problem, trees);
  return out;
}

// z ~ N(F beta, sigma2 K) in every leaf, and the leaves' data terms anew.
void redraw_response(Layer& s, const Problem& problem, Workspace& ws, Random& rng) {
  for (const Leaf& leaf : s.leaves) {
    const auto& rows = leaf.region->rows;
    factor_prior(leaf, ws);
    const Matrix e = draw_correlated(leaf, 1, ws, rng);
    for (int i = 0; i < e.rows; ++i) {
      double z = std::sqrt(leaf.params.sigma2) * e(i, 0);
      for (int j = 0; j < problem.data.m(); ++j) z += problem.data.design(rows[i], j) * leaf.beta[j];
      s.response.z[rows[i]] = z;
    }
  }
  refit(s, problem, ws);
}

// Labels from the softmax of the latents as they stand.
void redraw_labels(const Trees& trees, Problem& problem, Random& rng) {
  const auto layers = latents(trees);
  Vector weights(problem.classes.count);
  for (int i = 0; i < problem.data.n; ++i) {
    const double total = log_sum_others(layers, i, -1);
    for (std::size_t c = 0; c < weights.size(); ++c)
      weights[c] = std::exp((c < layers.size() ? layers[c]->response.z[i] : 0) - total);
    problem.classes.label[i] = rng.pick_weighted(weights);
  }
}

void play_bridges(Trees& trees, const Problem& problem, Workspace& ws, const Tempo& tempo, Counts& counts, Random& rng) {
  const auto layers = latents(trees);
  int m = 0;
  for (State& s : trees) {
    const Turn turn{s, s.layers[0], m, layers, problem, ws, tempo, true, counts};
    const auto move = static_cast<TreeMove>(rng.pick_weighted(problem.spec.schedule.weights));
    auto next = propose_tree_move(move, s, problem, ws, rng);
    if (next) turn.cross(std::move(*next), rng.coin(), rng);
    renew_leaf(turn, rng);
    m += static_cast<int>(s.layers.size());
    for (Layer& layer : s.layers) draw_coefficients(layer, problem, ws, tempo, counts, rng);
  }
}

// Geweke's successive-conditional simulator: rounds (steps frozen, no annealing) alternate with new data from the
// model; in classification the labels alone. Its stationary law is the joint prior of state and data. Every thin-th
// pair is returned: the layer's draws and the response (draw, row); or the layers' draws and the labels (draw, row) that
// their round was given, not those drawn after it, which would hide a round that ignores labels.
// `bridges`: in place of a round only bridges, a tree move (half of them screened) and a renewal in each tree, and
// coefficients, so that nothing else moves latents.
nb::tuple joint_chain(Problem problem, const nb::list& state, std::uint64_t seed, std::int64_t sweeps, int thin, bool bridges) {
  if (problem.data.prior_only) throw std::invalid_argument("joint_chain: a prior-only problem has no response to draw");
  Workspace ws;
  Trees trees = StateIn(state, problem).restore(problem);
  const bool labelled = problem.classes.count > 0;
  Random rng(seed, 0);
  std::vector<Draws> kept;
  Counts counts;
  std::vector<double> data;
  {
    nb::gil_scoped_release release;
    for (std::int64_t sweep = 0; sweep < sweeps; ++sweep) {
      rng.start_round(sweep + 1);
      if (labelled) redraw_labels(trees, problem, rng);
      const Tempo tempo = tempo_of(problem.spec.schedule.tune + sweep, problem.spec.schedule);
      if (bridges)
        play_bridges(trees, problem, ws, tempo, counts, rng);
      else
        play_round(trees, problem, ws, tempo, counts, rng);
      if (!labelled)
        redraw_response(trees[0].layers[0], problem, ws, rng);
      if ((sweep + 1) % thin) continue;
      append(kept, trees, problem, log_posterior(problem, trees));
      if (labelled)
        data.insert(data.end(), problem.classes.label.begin(), problem.classes.label.end());
      else
        data.insert(data.end(), trees[0].layers[0].response.z.begin(), trees[0].layers[0].response.z.end());
    }
  }
  const std::size_t n = problem.data.n, draws = data.size() / n;
  return nb::make_tuple(to_list(std::move(kept), problem), to_numpy(std::move(data), {draws, n}));
}

nb::object random_numbers(const std::string& kind, double parameter, std::uint64_t seed, std::size_t n) {
  Random rng(seed, 0);
  rng.start_round(0);
  std::vector<double> out(n);
  for (double& x : out)
    x = kind == "uniform" ? rng.uniform()
        : kind == "normal" ? rng.normal()
        : kind == "gamma" ? rng.gamma(parameter)
        : kind == "polya_gamma" ? draw_polya_gamma(parameter, rng)
                          : rng.pick(static_cast<int>(parameter));
  return to_numpy(std::move(out), {n});
}

std::vector<std::uint32_t> philox(const std::vector<std::uint32_t>& counter, const std::vector<std::uint32_t>& key) {
  const auto block = philox_4x32_10({counter.at(0), counter.at(1), counter.at(2), counter.at(3)}, {key.at(0), key.at(1)});
  return {block.begin(), block.end()};
}

}  // namespace treedgp::testing

NB_MODULE(_testing, m) {
  using namespace treedgp::testing;
  nb::module_::import_("treedgp._core");  // registers Problem and Spec
  bind_kernel(m);
  bind_latent(m);
  m.def("enumerate", &enumerate, nb::arg("problem"), nb::arg("state"), nb::arg("move"), nb::arg("index") = 0, nb::arg("turn") = 0, nb::arg("y") = nb::none(), nb::arg("noise") = nb::none());
  m.def("propose", &propose_once, nb::arg("problem"), nb::arg("state"), nb::arg("move"), nb::arg("index") = 0, nb::arg("seed") = 0, nb::arg("turn") = 0, nb::arg("y") = nb::none(), nb::arg("noise") = nb::none());
  m.def("leaf_terms", &leaf_terms, nb::arg("problem"), nb::arg("state"));
  m.def("joint_chain", &joint_chain, nb::arg("problem"), nb::arg("state"), nb::arg("seed"), nb::arg("sweeps"), nb::arg("thin"), nb::arg("bridges") = false);
  m.def("random_numbers", &random_numbers, nb::arg("kind"), nb::arg("parameter"), nb::arg("seed"), nb::arg("n"));
  m.def("philox", &philox, nb::arg("counter"), nb::arg("key"));
}
