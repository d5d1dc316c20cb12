// A chain's state as arrays: a single draw of each layer, and what it has learned: its random-walk scales and sites.
#pragma once
#include "arrays.hpp"

namespace treedgp::bind {

inline nb::list state_to_list(const Trees& trees, const Problem& problem) {
  std::vector<Draws> one;
  append(one, trees, problem, log_posterior(problem, trees));
  nb::list out = to_list(std::move(one), problem);
  const auto layers = latents(trees);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& steps = layers[i]->log_step;
    nb::dict layer = nb::cast<nb::dict>(out[i]);
    layer["log_step"] = to_numpy(std::vector<double>(steps.begin(), steps.end()), {n_steps});
    if (layers[i]->sites.empty()) continue;
    std::vector<double> sites;
    for (const Site& site : layers[i]->sites) sites.insert(sites.end(), {site.precision, site.shift});
    layer["site"] = to_numpy(std::move(sites), {layers[i]->sites.size(), std::size_t{2}});
  }
  return out;
}

// A state's arrays, checked; restore() needs no GIL.
class StateIn {
 public:
  StateIn(const nb::list& layers, const Problem& problem) : draws_(layers, problem) {
    if (draws_.views[0].n_draws != 1) throw std::invalid_argument("state: expected one draw");
    for (std::size_t i = 0; i < draws_.size(); ++i) {
      check(draws_.views[i]);
      std::copy_n(draws_.layer(i).shaped<double>("log_step", {n_steps}), n_steps, log_steps_.emplace_back().begin());
      sites_.push_back(problem.classes.n_latents() ? read_sites(i, problem.data.n) : std::vector<Site>());
    }
  }

  Trees restore(const Problem& problem) const {
    Workspace ws;
    Trees trees = restore_trees(problem, draws_.views, 0, ws);
    std::size_t at = 0;
    for (State& s : trees)
      for (Layer& layer : s.layers) {
        layer.log_step = log_steps_[at];
        layer.sites = sites_[at++];
      }
    return trees;
  }

 private:
  std::vector<Site> read_sites(std::size_t layer, std::size_t n) {
    const double* values = draws_.layer(layer).shaped<double>("site", {n, std::size_t{2}});
    std::vector<Site> sites(n);
    for (std::size_t i = 0; i < n; ++i) {
      sites[i] = {values[2 * i], values[2 * i + 1]};
      if (!(sites[i].precision > 0) || !std::isfinite(sites[i].precision) || !std::isfinite(sites[i].shift))
        throw std::invalid_argument("state: 'site' must be finite, its precisions positive");
    }
    return sites;
  }

  static void check(const DrawsView& v) {
    const std::int64_t leaves = v.first_leaf(1);
    auto require_positive = [](const double* values, std::int64_t n, const char* name) {
      for (std::int64_t i = 0; i < n; ++i)
        if (!(values[i] > 0) || std::isinf(values[i]))
          throw std::invalid_argument(std::string("state: '") + name + "' must be positive and finite");
    };
    require_positive(v.range, leaves * v.n_range, "range");
    require_positive(v.sigma2, leaves, "sigma2");
    require_positive(v.tau2, leaves, "tau2");
    require_positive(v.hyper, 4, "hyper");
    for (std::int64_t i = 0; i < leaves; ++i)
      if (!(v.nugget[i] >= 0) || std::isinf(v.nugget[i]))
        throw std::invalid_argument("state: 'nugget' must be finite and not negative");
    for (int i = 0; v.latent && i < v.n; ++i)
      if (!std::isfinite(v.latent[i])) throw std::invalid_argument("state: 'latent' must be finite");
  }

  LayersIn draws_;
  std::vector<std::array<double, n_steps>> log_steps_;
  std::vector<std::vector<Site>> sites_;
};

}  // namespace treedgp::bind
