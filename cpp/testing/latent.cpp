// The pieces of the latent samplers and of class prediction, one by one.
#include "../bind/problem.hpp"
#include "../bind/state.hpp"
#include "treedgp/latent/bridge.hpp"
#include "treedgp/latent/scale.hpp"
#include "treedgp/moves/grow.hpp"
#include "treedgp/predict/classes.hpp"

namespace treedgp::testing {

using namespace treedgp::bind;

Layer& layer_of(Trees& trees, int turn) {
  for (State& s : trees)
    for (Layer& layer : s.layers)
      if (turn-- == 0) return layer;
  throw std::invalid_argument("no such class");
}

// (draws, n): the latents of class `turn` after each of `draws` times that step(layer, leaf, layers, ws, rng) was done to
// its leaves, everything else as it stands.
template <class Step>
nb::object repeat(const Problem& problem, const nb::list& state, int turn, std::uint64_t seed, std::size_t draws,
                  Step&& step) {
  Trees trees = StateIn(state, problem).restore(problem);
  Layer& layer = layer_of(trees, turn);
  const auto layers = latents(trees);
  Workspace ws;
  Random rng(seed, 0);
  rng.start_round(0);
  std::vector<double> out;
  for (std::size_t i = 0; i < draws; ++i) {
    for (Leaf& leaf : layer.leaves) {
      factor_prior(leaf, ws);
      step(layer, leaf, layers, ws, rng);
    }
    out.insert(out.end(), layer.response.z.begin(), layer.response.z.end());
  }
  return to_numpy(std::move(out), {draws, layer.response.z.size()});
}

// f | y, noise.
nb::object draw_latents(const Problem& problem, const nb::list& state, int turn, const In<double>& y,
                        const In<double>& noise, std::uint64_t seed, std::size_t draws) {
  const std::size_t n = problem.data.n;
  if (y.size() != n || noise.size() != n) throw std::invalid_argument("y and noise need an entry for each row");
  const Response response{Vector(y.data(), y.data() + n), Vector(noise.data(), noise.data() + n)};
  return repeat(problem, state, turn, seed, draws, [&](Layer& layer, Leaf& leaf, auto&, Workspace& ws, Random& rng) {
    const Vector latent = std::exchange(layer.response, response).z;
    fit_data(leaf, problem, layer, ws);
    layer.response = {latent, {}};
    draw_latent(layer, leaf, response, problem, ws, rng);
  });
}

// Slides on ellipses.
nb::object slide(const Problem& problem, const nb::list& state, int turn, std::uint64_t seed, std::size_t draws) {
  return repeat(problem, state, turn, seed, draws, [&](Layer& layer, const Leaf& leaf, auto& layers, Workspace& ws, Random& rng) {
    slide_latents(layer, leaf, turn, layers, problem, ws, rng);
  });
}

// The state after the sites of class `turn` have learned once.
nb::list learn(const Problem& problem, const nb::list& state, int turn, double gain) {
  Trees trees = StateIn(state, problem).restore(problem);
  Layer& layer = layer_of(trees, turn);
  Workspace ws;
  for (const Leaf& leaf : layer.leaves) learn_sites(layer.sites, leaf, turn, latents(trees), problem, gain, ws);
  return state_to_list(trees, problem);
}

// (draws) of leaf 0 of tree `which`: log estimates of what it gives the labels; and (draws, class of the tree, n) the
// latents, which are drawn if `rise`, else those of the state.
nb::tuple bridge(const Problem& problem, const nb::list& state, int which, bool rise, std::uint64_t seed, std::size_t draws) {
  Trees trees = StateIn(state, problem).restore(problem);
  const State& s = trees.at(which);
  Leaves leaves;
  for (const Layer& layer : s.layers) leaves.push_back(&layer.leaves[0]);
  Workspace ws;
  Random rng(seed, 0);
  rng.start_round(0);
  std::vector<double> estimates, latent;
  for (std::size_t i = 0; i < draws; ++i) {
    Trial trial(latents(trees), which, s.layers.size());
    estimates.push_back(log_bridge(leaves, which, problem, rise, trial, ws, rng));
    for (const Layer& layer : trial.own) latent.insert(latent.end(), layer.response.z.begin(), layer.response.z.end());
  }
  const auto n = static_cast<std::size_t>(problem.data.n);
  return nb::make_tuple(to_numpy(std::move(estimates), {draws}), to_numpy(std::move(latent), {draws, s.layers.size(), n}));
}

// What is left of the ratio of the bridge to the grown tree that `seed` proposes for tree `which` once it was screened.
double grow_screen(const Problem& problem, const nb::list& state, int which, std::uint64_t seed) {
  Trees trees = StateIn(state, problem).restore(problem);
  Workspace ws;
  Random rng(seed, 0);
  rng.start_round(0);
  auto next = propose_grow(trees.at(which), problem, ws, rng);
  if (!next) throw std::invalid_argument("the tree cannot grow");
  passes_screen(trees.at(which), *next, which, latents(trees), problem, ws, rng);
  return next->ratio.total(1);
}

// (draws, class but the base) log of the amplitude, in units of that at the start, after each scaling of all classes; and by
// how much the leaves' fits to the latents differ in the end from new ones.
nb::tuple scale_all(const Problem& problem, const nb::list& state, std::uint64_t seed, std::size_t draws) {
  Trees trees = StateIn(state, problem).restore(problem);
  const Trees start = trees;
  Workspace ws;
  Random rng(seed, 0);
  rng.start_round(0);
  std::vector<double> out;
  for (std::size_t i = 0; i < draws; ++i) {
    scale_classes(trees, problem, ws, rng);
    for (std::size_t k = 0; k < trees.size(); ++k)
      for (std::size_t l = 0; l < trees[k].layers.size(); ++l)
        out.push_back(0.5 * std::log(trees[k].layers[l].leaves[0].params.sigma2 / start[k].layers[l].leaves[0].params.sigma2));
  }
  double stale = 0;
  for (State& s : trees)
    for (Layer& layer : s.layers) {
      const std::vector<Leaf> kept = layer.leaves;
      refit(layer, problem, ws);
      for (std::size_t i = 0; i < kept.size(); ++i)
        for (std::size_t j = 0; j < kept[i].data.r.values.size(); ++j)
          stale = std::max(stale, std::abs(kept[i].data.r.values[j] - layer.leaves[i].data.r.values[j]));
    }
  const std::size_t classes = out.size() / draws;
  return nb::make_tuple(to_numpy(std::move(out), {draws, classes}), stale);
}

// Of leaf `index` of class `turn`: Q (rows, rows), and r = Q (f - F beta0), at once and as a sum of single changes.
nb::tuple latent_precision(const Problem& problem, const nb::list& state, int turn, int index) {
  Trees trees = StateIn(state, problem).restore(problem);
  const Layer& layer = layer_of(trees, turn);
  const Leaf& leaf = layer.leaves.at(index);
  const auto& rows = leaf.region->rows;
  const std::size_t n = rows.size();
  Workspace ws;
  LeafPrecision precision(problem, leaf, layer.hyper, ws);
  std::vector<double> q(n * n), at_once(n), by_changes(n);
  const Vector v = residuals(problem, leaf, layer.response.z, layer.hyper);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) q[i * n + k] = precision.at(static_cast<int>(i), static_cast<int>(k));
  }
  precision.start(v);
  for (std::size_t i = 0; i < n; ++i) at_once[i] = precision.r(static_cast<int>(i));
  precision.start(Vector(n));
  for (std::size_t i = 0; i < n; ++i) precision.add(static_cast<int>(i), v[i]);
  for (std::size_t i = 0; i < n; ++i) by_changes[i] = precision.r(static_cast<int>(i));
  return nb::make_tuple(to_numpy(std::move(q), {n, n}), to_numpy(std::move(at_once), {n}), to_numpy(std::move(by_changes), {n}));
}

// (n): log p(label_i) with f_i for the latent of class `turn`.
nb::object log_label_of(const Problem& problem, const nb::list& state, int turn, const In<double>& f) {
  const Trees trees = StateIn(state, problem).restore(problem);
  const auto layers = latents(trees);
  const std::size_t n = problem.data.n;
  if (f.size() != n) throw std::invalid_argument("f needs an entry for each row");
  std::vector<double> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = log_label(problem, layers, turn, static_cast<int>(i), f.data()[i]);
  return to_numpy(std::move(out), {n});
}

// (2, M): probability and vote of independent normal latents.
nb::object shares(const In<double>& mean, const In<double>& var, const In<double>& nodes) {
  const std::size_t classes = mean.size() + 1;
  std::vector<double> out(2 * classes);
  class_shares(mean.data(), var.data(), static_cast<int>(classes), {nodes.data(), nodes.data() + nodes.size()}, out.data(),
               out.data() + classes);
  return to_numpy(std::move(out), {std::size_t{2}, classes});
}

}  // namespace treedgp::testing

void bind_latent(nanobind::module_& m) {
  using namespace treedgp::testing;
  m.def("draw_latents", &draw_latents, nb::arg("problem"), nb::arg("state"), nb::arg("turn"), nb::arg("y"), nb::arg("noise"), nb::arg("seed"), nb::arg("draws"));
  m.def("slide_latents", &slide, nb::arg("problem"), nb::arg("state"), nb::arg("turn"), nb::arg("seed"), nb::arg("draws"));
  m.def("learn_sites", &learn, nb::arg("problem"), nb::arg("state"), nb::arg("turn"), nb::arg("gain"));
  m.def("log_bridge", &bridge, nb::arg("problem"), nb::arg("state"), nb::arg("which"), nb::arg("rise"), nb::arg("seed"), nb::arg("draws"));
  m.def("grow_screen", &grow_screen, nb::arg("problem"), nb::arg("state"), nb::arg("which"), nb::arg("seed"));
  m.def("scale_classes", &scale_all, nb::arg("problem"), nb::arg("state"), nb::arg("seed"), nb::arg("draws"));
  m.def("latent_precision", &latent_precision, nb::arg("problem"), nb::arg("state"), nb::arg("turn"), nb::arg("index") = 0);
  m.def("log_label", &log_label_of, nb::arg("problem"), nb::arg("state"), nb::arg("turn"), nb::arg("f"));
  m.def("class_shares", &shares, nb::arg("mean"), nb::arg("var"), nb::arg("nodes"));
}
