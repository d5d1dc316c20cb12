// Between NumPy arrays and the core: shapes are checked here, and nowhere else.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <string>

#include "treedgp/predict/classes.hpp"
#include "treedgp/round/run.hpp"

namespace treedgp::bind {

namespace nb = nanobind;
template <class T>
using In = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;

// A vector becomes a NumPy array of the given shape without a copy.
template <class T>
nb::object to_numpy(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto* owner = new std::vector<T>(std::move(values));
  nb::capsule free(owner, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(owner->data(), shape, free));
}

inline nb::dict to_dict(Draws&& d, const Problem& problem) {
  const std::size_t n_range = problem.spec.leaf.n_range, m = problem.data.m(), n = problem.data.n;
  const std::size_t draws = d.log_posterior.size(), nodes = d.column.size(), leaves = d.nugget.size();
  nb::dict out;
  out["node_start"] = to_numpy(std::move(d.node_start), {draws + 1});
  out["column"] = to_numpy(std::move(d.column), {nodes});
  out["cut"] = to_numpy(std::move(d.cut), {nodes});
  out["range"] = to_numpy(std::move(d.range), {leaves, n_range});
  out["gp"] = to_numpy(std::move(d.gp), {leaves, n_range});
  out["nugget"] = to_numpy(std::move(d.nugget), {leaves});
  out["sigma2"] = to_numpy(std::move(d.sigma2), {leaves});
  out["tau2"] = to_numpy(std::move(d.tau2), {leaves});
  out["beta"] = to_numpy(std::move(d.beta), {leaves, m});
  out["beta0"] = to_numpy(std::move(d.beta0), {draws, m});
  out["w_inv"] = to_numpy(std::move(d.w_inv), {draws, m * (m + 1) / 2});
  out["hyper"] = to_numpy(std::move(d.hyper), {draws, std::size_t{4}});
  if (problem.classes.n_latents() > 0) out["latent"] = to_numpy(std::move(d.latent), {draws, n});
  out["log_posterior"] = to_numpy(std::move(d.log_posterior), {draws});
  return out;
}

inline std::size_t n_layers(const Problem& problem) { return std::max(1, problem.classes.n_latents()); }

// A dict for each layer; layers without draws included.
inline nb::list to_list(std::vector<Draws>&& layers, const Problem& problem) {
  layers.resize(n_layers(problem));
  nb::list out;
  for (Draws& d : layers) out.append(to_dict(std::move(d), problem));
  return out;
}

// The arrays of a dict, checked, and kept alive while they are read without the GIL.
class DrawsIn {
 public:
  DrawsIn(const nb::dict& arrays, const Problem& problem) : arrays_(arrays) {
    const std::size_t n_range = problem.spec.leaf.n_range, m = problem.data.m();
    const In<std::int64_t> start = get<std::int64_t>("node_start");
    if (start.ndim() != 1 || start.shape(0) < 1 || start.data()[0] != 0)
      throw std::invalid_argument("draws: 'node_start' must begin with 0 and have one entry more than draws");
    const std::size_t draws = start.shape(0) - 1;
    for (std::size_t i = 0; i < draws; ++i) {
      const std::int64_t from = start.data()[i], to = start.data()[i + 1];
      if (to <= from || (to - from) % 2 == 0)
        throw std::invalid_argument("draws: 'node_start' must rise by odd numbers, a tree's count of nodes");
    }
    view.n_draws = static_cast<std::int64_t>(draws);
    view.n_range = static_cast<int>(n_range);
    view.m = static_cast<int>(m);
    view.node_start = start.data();
    const std::size_t nodes = start.data()[draws], leaves = (nodes + draws) / 2;
    view.column = shaped<std::int32_t>("column", {nodes});
    view.cut = shaped<std::int32_t>("cut", {nodes});
    view.range = shaped<double>("range", {leaves, n_range});
    view.gp = shaped<std::uint8_t>("gp", {leaves, n_range});
    view.nugget = shaped<double>("nugget", {leaves});
    view.sigma2 = shaped<double>("sigma2", {leaves});
    view.tau2 = shaped<double>("tau2", {leaves});
    view.beta = shaped<double>("beta", {leaves, m});
    view.beta0 = shaped<double>("beta0", {draws, m});
    view.w_inv = shaped<double>("w_inv", {draws, m * (m + 1) / 2});
    view.hyper = shaped<double>("hyper", {draws, 4});
    view.n = problem.data.n;
    if (problem.classes.n_latents() > 0) view.latent = shaped<double>("latent", {draws, static_cast<std::size_t>(view.n)});
  }

  template <class T>
  const T* shaped(const char* name, std::initializer_list<std::size_t> shape) {
    const In<T> array = get<T>(name);
    bool same = array.ndim() == shape.size();
    std::size_t axis = 0;
    for (std::size_t size : shape) same = same && array.shape(axis++) == size;
    if (!same) throw std::invalid_argument(std::string("draws: '") + name + "' has the wrong shape");
    return array.data();
  }

  DrawsView view;

 private:
  // No implicit conversion: a converted copy would not be the caller's array.
  template <class T>
  In<T> get(const char* name) {
    In<T> array;
    if (!arrays_.contains(name) || !nb::try_cast(arrays_[name], array, false))
      throw std::invalid_argument(std::string("draws: '") + name + "' is missing, or not a contiguous array of its type");
    kept_.push_back(nb::cast(array));
    return array;
  }

  nb::dict arrays_;
  std::vector<nb::object> kept_;  // in case the dict changes meanwhile
};

// The draws of every layer of a chain.
class LayersIn {
 public:
  LayersIn(const nb::list& layers, const Problem& problem) {
    if (layers.size() != n_layers(problem))
      throw std::invalid_argument("draws: expected " + std::to_string(n_layers(problem)) + " layers, got " +
                                  std::to_string(layers.size()));
    for (const auto& arrays : layers) {
      const DrawsIn& in = layers_.emplace_back(nb::cast<nb::dict>(arrays), problem);
      views.push_back(in.view);
      if (in.view.n_draws != views[0].n_draws) throw std::invalid_argument("draws: layers differ in length");
    }
  }

  DrawsIn& layer(std::size_t i) { return layers_[i]; }
  std::size_t size() const { return layers_.size(); }

  std::vector<DrawsView> views;

 private:
  std::vector<DrawsIn> layers_;
};

// (n, k) row-major to (k, n).
template <class T>
std::vector<T> transposed(const In<T>& a) {
  const std::size_t n = a.shape(0), k = a.shape(1);
  std::vector<T> out(n * k);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < k; ++j) out[j * n + i] = a.data()[i * k + j];
  return out;
}

}  // namespace treedgp::bind
