// The model and the data, from Python.
#pragma once
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "treedgp/state/neighbours.hpp"

namespace treedgp::bind {

inline void check_weights(const std::vector<double>& weights, const char* what) {
  double sum = 0;
  for (double w : weights) {
    if (!(w >= 0)) throw std::invalid_argument(std::string(what) + ": weights must not be negative");
    sum += w;
  }
  if (!(std::abs(sum - 1) < 1e-9)) throw std::invalid_argument(std::string(what) + ": weights must sum to 1");
}

inline void check_spec(const Spec& spec, bool prior_only) {
  const bool flat = spec.coefficients == CoefficientKind::flat;
  auto require = [](bool ok, const char* message) {
    if (!ok) throw std::invalid_argument(std::string("spec: ") + message);
  };
  require(!(flat && prior_only), "the flat prior is improper and cannot be sampled on its own");
  require(!(flat && spec.leaf.tau2_random), "the flat prior has no tau2");
  require(spec.split.alpha >= 0 && spec.split.alpha < 1 && spec.split.beta >= 0, "0 <= alpha < 1 and beta >= 0");
  require(spec.split.max_depth >= 0 && spec.split.max_depth <= depth_limit, "max_depth lies in 0 .. 60");
  require(!spec.leaf.nugget.empty() && !(spec.leaf.n_range > 0 && spec.leaf.range.empty()), "a prior is missing");
  require(spec.schedule.thin >= 1 && spec.schedule.tune >= 0 && spec.schedule.latent_sweeps >= 1,
          "thin >= 1, tune >= 0 and latent_sweeps >= 1");
  require(spec.schedule.tree_moves >= 0 && spec.schedule.range_moves >= 0 && spec.schedule.nugget_moves >= 0,
          "moves a round must not be negative");
  for (const InverseGammaPrior& p : {spec.sigma2, spec.tau2})
    require(p.a > (p.learn_a ? InverseGammaPrior::a_floor : 0) && p.g > 0 && p.rate_a > 0 && p.rate_g > 0 &&
                p.shape_g > 0,
            "a > 0 (2 where learned), g > 0 and positive rates");
  require(spec.schedule.annealed >= 0 && spec.schedule.annealed <= 1 && spec.schedule.coldest > 0,
          "0 <= annealed <= 1 and coldest > 0");
  check_weights({spec.schedule.weights.begin(), spec.schedule.weights.end()}, "schedule");
}

inline void check_classes(const Classes& classes, int n) {
  if (classes.count == 0) return;
  if (classes.count < 2 || static_cast<int>(classes.label.size()) != n || classes.block_size < 1)
    throw std::invalid_argument("classes: at least 2, a label for each row, block_size >= 1");
  for (int c : classes.label)
    if (c < 0 || c >= classes.count) throw std::invalid_argument("classes: a label lies outside 0 .. count - 1");
}

inline Problem make_problem(const Spec& spec, kernel::Family family, bool linear_mean, int min_leaf,
                            const In<double>& x, const In<double>& z, const In<std::int32_t>& codes,
                            const std::vector<bool>& categorical, const std::vector<int>& sizes, bool prior_only,
                            const Classes& classes) {
  if (x.ndim() != 2 || z.ndim() != 1 || codes.ndim() != 2 || z.shape(0) != x.shape(0) || codes.shape(0) != x.shape(0))
    throw std::invalid_argument("problem: x (n, q), z (n) and codes (n, columns) must have the same n");
  if (categorical.size() != codes.shape(1) || sizes.size() != codes.shape(1))
    throw std::invalid_argument("problem: categorical and sizes need one entry per column of codes");
  const int n = static_cast<int>(x.shape(0)), q = static_cast<int>(x.shape(1));
  const int n_range = spec.leaf.n_range;
  check_spec(spec, prior_only);
  if (n_range != 0 && n_range != 1 && n_range != q)
    throw std::invalid_argument("problem: n_range must be 0, 1 or the number of leaf columns");
  if (min_leaf < 1) throw std::invalid_argument("problem: min_leaf must be at least 1");

  check_classes(classes, n);
  if (classes.n_latents() > 0 && spec.coefficients == CoefficientKind::flat)
    throw std::invalid_argument("problem: the flat prior is improper, and latents need a proper one");
  if (spec.leaf.sigma2_explicit != (classes.n_latents() > 0 && classes.sampler == LatentSampler::polya_gamma))
    throw std::invalid_argument("problem: sigma2 is explicit with Polya-Gamma latents and only there");

  LeafData data{n, q, linear_mean, family, transposed(x), prior_only};
  std::vector<SplitColumn> columns(codes.shape(1));
  for (std::size_t c = 0; c < columns.size(); ++c) {
    columns[c] = {categorical[c], sizes[c], std::vector<int>(n)};
    for (int i = 0; i < n; ++i) {
      const int code = codes.data()[i * columns.size() + c];
      if (code < 0 || code >= sizes[c]) throw std::invalid_argument("problem: a code lies outside 0 .. size - 1");
      columns[c].code[i] = code;
    }
  }
  Matrix design;
  if (spec.coefficients == CoefficientKind::flat) {
    design = Matrix(n, data.m());
    for (int j = 0; j < data.m(); ++j)
      for (int i = 0; i < n; ++i) design(i, j) = data.design(i, j);
    if (!full_column_rank(design))
      throw std::invalid_argument("problem: under the flat prior the design must have full column rank");
  }
  return {spec, Partitioner(std::move(columns), n, min_leaf, std::move(design), nearest(data, classes)), std::move(data), Vector(z.data(), z.data() + n), classes};
}

using Components = std::vector<std::tuple<double, double, double>>;  // (weight, shape, rate); rate 0 is an atom at shape

inline ScalarPrior make_scalar_prior(const Components& components, double floor) {
  std::vector<ScalarPrior::Component> list;
  std::vector<double> weights;
  for (const auto& [weight, shape, rate] : components) {
    if (!(std::isfinite(shape) && std::isfinite(rate) && rate >= 0 && (rate > 0 ? shape > 0 : shape >= 0)))
      throw std::invalid_argument("prior: shapes and rates must be positive numbers");
    list.push_back({weight, shape, rate});
    weights.push_back(weight);
  }
  check_weights(weights, "prior");
  return ScalarPrior(std::move(list), floor);
}

inline RangePrior make_range_prior(const Components& components, double alike) {
  ScalarPrior law = make_scalar_prior(components, 0);
  if (!(std::isfinite(alike) && alike >= 0 && !(alike > 0 && law.atoms())))
    throw std::invalid_argument("prior: alike must be 0 or, for gammas, a positive number");
  return RangePrior(std::move(law), alike);
}

inline void bind_problem(nb::module_& m) {
  nb::class_<ScalarPrior>(m, "ScalarPrior", "Mixture of floor + G(shape, rate); rate 0 is an atom at shape.")
      .def("__init__",
           [](ScalarPrior* self, const Components& components, double floor) {
             new (self) ScalarPrior(make_scalar_prior(components, floor));
           },
           nb::arg("components"), nb::arg("floor") = 0.0)
      .def("log_p", &ScalarPrior::log_p);
  nb::class_<RangePrior>(m, "RangePrior", "Ranges of a leaf: independent, or alike around a scale if `alike` is not 0.")
      .def("__init__",
           [](RangePrior* self, const Components& components, double alike) {
             new (self) RangePrior(make_range_prior(components, alike));
           },
           nb::arg("components"), nb::arg("alike") = 0.0)
      .def("log_p", [](const RangePrior& prior, const std::vector<double>& d) { return prior.log_p(d); });
  nb::class_<SplitPrior>(m, "SplitPrior")
      .def_rw("alpha", &SplitPrior::alpha)
      .def_rw("beta", &SplitPrior::beta)
      .def_rw("max_depth", &SplitPrior::max_depth);
  nb::class_<LimitingPrior>(m, "LimitingPrior")
      .def_rw("allowed", &LimitingPrior::allowed)
      .def_rw("gamma", &LimitingPrior::gamma)
      .def_rw("theta1", &LimitingPrior::theta1)
      .def_rw("theta2", &LimitingPrior::theta2)
      .def("p_linear", &LimitingPrior::p_linear);
  nb::class_<LeafPrior>(m, "LeafPrior")
      .def_rw("n_range", &LeafPrior::n_range)
      .def_rw("range", &LeafPrior::range)
      .def_rw("nugget", &LeafPrior::nugget)
      .def_rw("limiting", &LeafPrior::limiting)
      .def_rw("tau2_random", &LeafPrior::tau2_random)
      .def_rw("tau2_value", &LeafPrior::tau2_value)
      .def_rw("sigma2_explicit", &LeafPrior::sigma2_explicit);
  nb::class_<InverseGammaPrior>(m, "InverseGammaPrior")
      .def_rw("a", &InverseGammaPrior::a)
      .def_rw("g", &InverseGammaPrior::g)
      .def_rw("learn_a", &InverseGammaPrior::learn_a)
      .def_rw("learn_g", &InverseGammaPrior::learn_g)
      .def_rw("rate_a", &InverseGammaPrior::rate_a)
      .def_rw("rate_g", &InverseGammaPrior::rate_g)
      .def_rw("shape_g", &InverseGammaPrior::shape_g);
  nb::class_<Schedule>(m, "Schedule")
      .def_prop_rw(
          "weights", [](const Schedule& s) { return std::vector<double>(s.weights.begin(), s.weights.end()); },
          [](Schedule& s, const std::vector<double>& w) {
            if (w.size() != n_tree_moves) throw std::invalid_argument("schedule: weights needs one entry per tree move");
            std::copy(w.begin(), w.end(), s.weights.begin());
          })
      .def_rw("tree_moves", &Schedule::tree_moves)
      .def_rw("range_moves", &Schedule::range_moves)
      .def_rw("nugget_moves", &Schedule::nugget_moves)
      .def_rw("tune", &Schedule::tune)
      .def_rw("thin", &Schedule::thin)
      .def_rw("latent_sweeps", &Schedule::latent_sweeps)
      .def_rw("annealed", &Schedule::annealed)
      .def_rw("coldest", &Schedule::coldest);
  nb::enum_<CoefficientKind>(m, "CoefficientKind")
      .value("hierarchical", CoefficientKind::hierarchical)
      .value("flat", CoefficientKind::flat)
      .value("fixed", CoefficientKind::fixed);
  nb::enum_<kernel::Family>(m, "Family")
      .value("gaussian", kernel::Family::gaussian)
      .value("matern12", kernel::Family::matern12)
      .value("matern32", kernel::Family::matern32)
      .value("matern52", kernel::Family::matern52);
  nb::enum_<LatentSampler>(m, "LatentSampler")
      .value("polya_gamma", LatentSampler::polya_gamma)
      .value("metropolis", LatentSampler::metropolis);
  nb::class_<Classes>(m, "Classes", "Labels and how they reach the trees; none in regression.")
      .def(nb::init<>())
      .def_rw("count", &Classes::count)
      .def_rw("label", &Classes::label)
      .def_rw("latent", &Classes::latent)
      .def_rw("shared_tree", &Classes::shared_tree)
      .def_rw("sampler", &Classes::sampler)
      .def_rw("block_size", &Classes::block_size);
  nb::class_<Spec>(m, "Spec")
      .def(nb::init<>())
      .def_rw("split", &Spec::split)
      .def_rw("leaf", &Spec::leaf)
      .def_rw("coefficients", &Spec::coefficients)
      .def_rw("sigma2", &Spec::sigma2)
      .def_rw("tau2", &Spec::tau2)
      .def_rw("schedule", &Spec::schedule);
  nb::class_<Problem>(m, "Problem", "Model and data; immutable, shared by chains.")
      .def("__init__",
           [](Problem* self, const Spec& spec, kernel::Family family, bool linear_mean, int min_leaf,
              const In<double>& x, const In<double>& z, const In<std::int32_t>& codes,
              const std::vector<bool>& categorical, const std::vector<int>& sizes, bool prior_only,
              const Classes& classes) {
             new (self) Problem(make_problem(spec, family, linear_mean, min_leaf, x, z, codes, categorical, sizes,
                                             prior_only, classes));
           },
           nb::kw_only(), nb::arg("spec"), nb::arg("family"), nb::arg("linear_mean"), nb::arg("min_leaf"),
           nb::arg("x"), nb::arg("z"), nb::arg("codes"), nb::arg("categorical"), nb::arg("sizes"),
           nb::arg("prior_only") = false, nb::arg("classes") = Classes());
}

}  // namespace treedgp::bind
