// treedgp._testing: the shipped core, opened up for the exact tests. Not part of a release build.
#include "../bind/problem.hpp"
#include "../bind/state.hpp"
#include "enumerator.hpp"

void bind_kernel(nanobind::module_& m);

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

// A move by name on a state; `index` is the leaf of a range or nugget move.
template <class Rng>
std::optional<Proposal> propose(const std::string& move, const State& s, const Problem& problem, Workspace& ws,
                                int index, Rng& rng) {
  for (int i = 0; i < n_tree_moves; ++i)
    if (move == tree_moves[i]) return propose_tree_move(static_cast<TreeMove>(i), s, problem, ws, rng);
  if (index < 0 || index >= static_cast<int>(s.leaves.size())) throw std::invalid_argument("no such leaf");
  const double now = log_marginal(problem, s.leaves[index], s.hyper);
  if (move != "range" && move != "nugget") throw std::invalid_argument("unknown move: " + move);
  LeafProposal next = move == "range" ? propose_range(s, problem, ws, index, now, rng)
                                      : propose_nugget(s, problem, ws, index, now, rng);
  std::vector<Leaf> leaves;
  leaves.push_back(std::move(next.leaf));
  return Proposal{s.tree, index, 1, std::move(leaves), next.ratio};
}

nb::object proposal_to_python(const State& s, const Problem& problem, std::optional<Proposal> proposal) {
  if (!proposal) return nb::none();
  State next = s;
  const LogRatio ratio = proposal->ratio;
  commit(next, std::move(*proposal));
  return nb::make_tuple(ratio_to_dict(ratio), state_to_dict(next, problem));
}

// Every branch of a move: [(probability, None | (ratio, next state))].
nb::list enumerate(const Problem& problem, const nb::dict& state, const std::string& move, int index) {
  Workspace ws;
  const State s = StateIn(state, problem).restore(problem);
  nb::list out;
  Enumerator rng;
  do {
    nb::object branch = proposal_to_python(s, problem, propose(move, s, problem, ws, index, rng));
    out.append(nb::make_tuple(rng.probability(), branch));
  } while (rng.next());
  return out;
}

// One random proposal: None | (ratio, next state).
nb::object propose_once(const Problem& problem, const nb::dict& state, const std::string& move, int index,
                        std::uint64_t seed) {
  Workspace ws;
  const State s = StateIn(state, problem).restore(problem);
  Random rng(seed, 0);
  rng.start_round(0);
  return proposal_to_python(s, problem, propose(move, s, problem, ws, index, rng));
}

nb::dict leaf_terms(const Problem& problem, const nb::dict& state) {
  Workspace ws;
  const State s = StateIn(state, problem).restore(problem);
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
  out["log_posterior"] = log_posterior(problem, s);
  return out;
}

// z ~ N(F beta, sigma2 K) in every leaf, and the leaves' data terms anew.
void redraw_response(State& s, Problem& problem, Workspace& ws, Random& rng) {
  for (const Leaf& leaf : s.leaves) {
    const auto& rows = leaf.region->rows;
    const int n = static_cast<int>(rows.size());
    const auto& ops = kernel::ops(n);
    const int np = kernel::panel_rows(n, ops.width);
    const bool linear = leaf.params.linear();
    if (!linear) {
      fill_noise(n, np, leaf.params.g, ws);
      ws.factor.reserve(kernel::triangle_size(np, ops.width));
      ops.factor(leaf.basis->kstar.data(), ws.noise.data(), np, ws.factor.data(), nullptr, 0);
    }
    Vector e(n);
    for (double& x : e) x = rng.normal() * std::sqrt(leaf.sigma2);
    for (int i = 0; i < n; ++i) {
      double z = linear ? std::sqrt(1 + leaf.params.g) * e[i] : 0;
      for (int j = 0; !linear && j <= i; ++j) z += kernel::triangle_at(ws.factor.data(), ops.width, i, j) * e[j];
      for (int j = 0; j < problem.data.m(); ++j) z += problem.data.design(rows[i], j) * leaf.beta[j];
      problem.data.z[rows[i]] = z;
    }
  }
  for (Leaf& leaf : s.leaves) {
    Leaf next = fit_leaf(problem, ws, leaf.region, leaf.params);
    next.sigma2 = leaf.sigma2;
    next.beta = leaf.beta;
    leaf = std::move(next);
  }
}

// Geweke's successive-conditional simulator: rounds (steps frozen, no annealing) alternate with new data from the
// model. Its stationary law is the joint prior of state and data. Every thin-th pair is returned.
nb::tuple joint_chain(Problem problem, const nb::dict& state, std::uint64_t seed, std::int64_t sweeps, int thin) {
  if (problem.data.prior_only) throw std::invalid_argument("joint_chain: a prior-only problem has no response to draw");
  Workspace ws;
  State s = StateIn(state, problem).restore(problem);
  Random rng(seed, 0);
  Draws kept;
  Counts counts;
  std::vector<double> z;
  {
    nb::gil_scoped_release release;
    for (std::int64_t sweep = 0; sweep < sweeps; ++sweep) {
      rng.start_round(sweep + 1);
      play_round(s, problem, ws, tempo_of(problem.spec.schedule.tune + sweep, problem.spec.schedule), counts, rng);
      redraw_response(s, problem, ws, rng);
      if ((sweep + 1) % thin) continue;
      kept.append(s, log_posterior(problem, s));
      z.insert(z.end(), problem.data.z.begin(), problem.data.z.end());
    }
  }
  const std::size_t n = problem.data.n, draws = z.size() / n;
  return nb::make_tuple(to_dict(std::move(kept), problem.spec.leaf.n_range, problem.data.m()),
                        to_numpy(std::move(z), {draws, n}));
}

nb::object random_numbers(const std::string& kind, double parameter, std::uint64_t seed, std::size_t n) {
  Random rng(seed, 0);
  rng.start_round(0);
  std::vector<double> out(n);
  for (double& x : out)
    x = kind == "uniform" ? rng.uniform()
        : kind == "normal" ? rng.normal()
        : kind == "gamma" ? rng.gamma(parameter)
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
  m.def("enumerate", &enumerate, nb::arg("problem"), nb::arg("state"), nb::arg("move"), nb::arg("index") = 0);
  m.def("propose", &propose_once, nb::arg("problem"), nb::arg("state"), nb::arg("move"), nb::arg("index") = 0, nb::arg("seed") = 0);
  m.def("leaf_terms", &leaf_terms, nb::arg("problem"), nb::arg("state"));
  m.def("joint_chain", &joint_chain, nb::arg("problem"), nb::arg("state"), nb::arg("seed"), nb::arg("sweeps"), nb::arg("thin"));
  m.def("random_numbers", &random_numbers, nb::arg("kind"), nb::arg("parameter"), nb::arg("seed"), nb::arg("n"));
  m.def("philox", &philox, nb::arg("counter"), nb::arg("key"));
}
