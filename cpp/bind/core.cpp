// The Python module: conversion and shape checks only.
#include "problem.hpp"
#include "state.hpp"

namespace treedgp::bind {

std::vector<std::int64_t> flatten(const Counts& counts) {
  std::vector<std::int64_t> out;
  for (const MoveCount& c : counts.tree) out.insert(out.end(), {c.attempted, c.accepted});
  for (const MoveCount& c : counts.steps) out.insert(out.end(), {c.attempted, c.accepted});
  out.insert(out.end(), {counts.latents.attempted, counts.latents.accepted});
  return out;
}

nb::list start(const Problem& problem, std::uint64_t seed, std::uint32_t chain, bool prior_tree) {
  Trees trees;
  {
    nb::gil_scoped_release release;
    Workspace ws;
    Random rng(seed, chain);
    rng.start_round(0);
    trees = initial_trees(problem, prior_tree, ws, rng);
  }
  return state_to_list(trees, problem);
}

nb::dict run(const Problem& problem, const nb::list& state, std::uint64_t seed, std::uint32_t chain,
             std::int64_t begin, std::int64_t end) {
  const StateIn in(state, problem);
  Trees trees;
  Random rng(seed, chain);
  std::vector<Draws> kept;
  Counts counts;
  Workspace ws;
  {
    nb::gil_scoped_release release;
    trees = in.restore(problem);
    run_rounds(trees, problem, rng, begin, end, ws, kept, counts);
  }
  nb::dict out;
  out["state"] = state_to_list(trees, problem);
  out["draws"] = to_list(std::move(kept), problem);
  const auto flat = flatten(counts);
  const std::size_t n_counts = flat.size() / 2;
  out["counts"] = to_numpy(flat, {n_counts, std::size_t{2}});
  out["failed_factorisations"] = ws.failed_factorisations;
  return out;
}

NewRows new_rows(const Problem& problem, const In<double>& x, const In<std::int32_t>& codes) {
  const LeafData& data = problem.data;
  if (x.ndim() != 2 || codes.ndim() != 2 || x.shape(0) != codes.shape(0) || static_cast<int>(x.shape(1)) != data.q ||
      static_cast<int>(codes.shape(1)) != problem.partitioner.n_columns())
    throw std::invalid_argument("predict: x (n, q) and codes (n, columns) must have the same n and the problem's columns");
  if (data.prior_only) throw std::invalid_argument("predict: a prior-only problem has no data to predict from");
  const int n = static_cast<int>(x.shape(0));
  return {n, transposed(codes), {n, data.q, data.linear_mean, data.family, transposed(x), false}};
}

// (3, draws, n): mean, variance of f, variance of a new observation.
nb::object moments(const Problem& problem, const nb::dict& draws, std::int64_t begin, std::int64_t end,
                   const In<double>& x, const In<std::int32_t>& codes) {
  const DrawsIn in(draws, problem);
  if (begin < 0 || end > in.view.n_draws || begin > end) throw std::invalid_argument("predict: no such draws");
  const NewRows fresh = new_rows(problem, x, codes);
  const std::size_t n = fresh.n, size = static_cast<std::size_t>(end - begin) * n;
  std::vector<double> out(3 * size);
  {
    nb::gil_scoped_release release;
    Workspace ws;
    for (std::int64_t d = begin; d < end; ++d) {
      double* row = out.data() + static_cast<std::size_t>(d - begin) * n;
      predict_moments(problem, in.view, d, fresh, ws, row, row + size, row + 2 * size);
    }
  }
  return to_numpy(std::move(out), {3, static_cast<std::size_t>(end - begin), n});
}

// (2, draws, n, classes): probability and vote.
nb::object class_shares_by_draw(const Problem& problem, const nb::list& draws, std::int64_t begin, std::int64_t end,
                                const In<double>& x, const In<std::int32_t>& codes, const In<double>& nodes) {
  const LayersIn in(draws, problem);
  if (begin < 0 || end > in.views[0].n_draws || begin > end) throw std::invalid_argument("predict: no such draws");
  const NewRows fresh = new_rows(problem, x, codes);
  const int classes = problem.classes.count;
  if (classes < 2) throw std::invalid_argument("predict: the problem has no classes");
  if (classes > 2 && problem.classes.latent && (nodes.ndim() != 2 || nodes.shape(0) < 1 || static_cast<int>(nodes.shape(1)) != classes - 1))
    throw std::invalid_argument("predict: nodes must have a column for each class but the base");
  const std::vector<double> normals(nodes.data(), nodes.data() + nodes.size());
  const std::size_t row = static_cast<std::size_t>(fresh.n) * classes, size = static_cast<std::size_t>(end - begin) * row;
  std::vector<double> out(2 * size);
  {
    nb::gil_scoped_release release;
    Workspace ws;
    for (std::int64_t d = begin; d < end; ++d) {
      double* at = out.data() + static_cast<std::size_t>(d - begin) * row;
      if (problem.classes.latent)
        predict_classes(problem, in.views, d, fresh, normals, ws, at, at + size);
      else
        predict_counts(problem, in.views[0], d, fresh, at, at + size);
    }
  }
  return to_numpy(std::move(out), {2, static_cast<std::size_t>(end - begin), static_cast<std::size_t>(fresh.n), static_cast<std::size_t>(classes)});
}

// mean (n), noise variance (n), covariance of f (n, n) of one draw.
nb::tuple joint(const Problem& problem, const nb::dict& draws, std::int64_t draw, const In<double>& x,
                const In<std::int32_t>& codes) {
  const DrawsIn in(draws, problem);
  if (draw < 0 || draw >= in.view.n_draws) throw std::invalid_argument("predict: no such draw");
  const NewRows fresh = new_rows(problem, x, codes);
  const std::size_t n = fresh.n;
  std::vector<double> mean(n), noise(n), cov(n * n);
  {
    nb::gil_scoped_release release;
    Workspace ws;
    predict_joint(problem, in.view, draw, fresh, ws, mean.data(), noise.data(), cov.data());
  }
  return nb::make_tuple(to_numpy(std::move(mean), {n}), to_numpy(std::move(noise), {n}), to_numpy(std::move(cov), {n, n}));
}

}  // namespace treedgp::bind

NB_MODULE(_core, m) {
  using namespace treedgp::bind;
  // What the sampler itself cannot get over, as opposed to bad arguments (std::invalid_argument, ValueError).
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const std::runtime_error& e) {
      PyErr_SetString(nb::module_::import_("treedgp.errors").attr("SamplerError").ptr(), e.what());
    }
  });
  bind_problem(m);
  m.def("isa", &treedgp::kernel::isa, "The instruction set the leaf kernel runs on.");
  m.def("start", &start, nb::arg("problem"), nb::arg("seed"), nb::arg("chain"), nb::arg("prior_tree"));
  m.def("run", &run, nb::arg("problem"), nb::arg("state"), nb::arg("seed"), nb::arg("chain"), nb::arg("begin"), nb::arg("end"));
  m.def("moments", &moments, nb::arg("problem"), nb::arg("draws"), nb::arg("begin"), nb::arg("end"), nb::arg("x"), nb::arg("codes"));
  m.def("class_shares", &class_shares_by_draw, nb::arg("problem"), nb::arg("draws"), nb::arg("begin"), nb::arg("end"), nb::arg("x"), nb::arg("codes"), nb::arg("nodes"));
  m.def("joint", &joint, nb::arg("problem"), nb::arg("draws"), nb::arg("draw"), nb::arg("x"), nb::arg("codes"));
}
