#include <medley/model/kernels/ops.h>

#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

#include <medley/model/kernels/loops.h>

namespace medley {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

bool HasLoops(const at::Tensor& x) {
  return x.device().is_cpu() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble);
}

// Calls fn with a value of the tensor's type.
template <typename Fn>
void ByType(const at::Tensor& x, const Fn& fn) {
  if (x.scalar_type() == at::kDouble) {
    fn(double{});
  } else {
    fn(float{});
  }
}

template <typename T>
const T* In(const at::Tensor& x) {
  return x.const_data_ptr<T>();
}
template <typename T>
T* Out(at::Tensor& x) {
  return x.mutable_data_ptr<T>();
}

struct ProjectFunction : Function<ProjectFunction> {
  static at::Tensor Flat(const at::Tensor& x) { return x.reshape({-1, x.size(-1)}); }

  static variable_list forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& first,
                               const std::optional<at::Tensor>& second) {
    context->save_for_backward({x, first, second.value_or(at::Tensor())});
    const at::Tensor flat = Flat(x);
    std::vector<std::int64_t> shape = x.sizes().vec();
    variable_list out;
    const auto add = [&](const at::Tensor& weight) {
      shape.back() = weight.size(0);
      out.push_back(at::mm(flat, weight.t()).view(shape));
    };
    add(first);
    if (second) add(*second);
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor flat = Flat(x);
    at::Tensor dx;
    variable_list out(3);
    for (std::size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i].defined()) continue;
      const at::Tensor dy = Flat(grads[i]);
      if (context->needs_input_grad(i + 1)) out[i + 1] = at::mm(dy.t(), flat);
      if (!context->needs_input_grad(0)) continue;
      if (dx.defined()) {
        dx.addmm_(dy, saved[i + 1]);
      } else {
        dx = at::mm(dy, saved[i + 1]);
      }
    }
    if (dx.defined()) out[0] = dx.view(x.sizes());
    return out;
  }
};

struct RmsNormFunction : Function<RmsNormFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor& weight,
                            double epsilon) {
    const at::Tensor x = input.contiguous();
    const std::int64_t dim = weight.numel(), rows = x.numel() / dim;
    at::Tensor y = at::empty_like(x), rstd = at::empty({rows}, x.options());
    ByType(x, [&](auto t) {
      using T = decltype(t);
      loops::RmsNorm(In<T>(x), In<T>(weight), Out<T>(y), Out<T>(rstd), rows, dim, epsilon);
    });
    context->save_for_backward({x, weight, rstd});
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &rstd = saved[2];
    const at::Tensor dy = grads[0].contiguous();
    at::Tensor dx = at::empty_like(x), dw = at::zeros_like(weight);
    ByType(x, [&](auto t) {
      using T = decltype(t);
      loops::RmsNormBackward(In<T>(dy), In<T>(x), In<T>(weight), In<T>(rstd), Out<T>(dx), Out<T>(dw),
                             rstd.numel(), weight.numel());
    });
    return {dx, dw, at::Tensor()};
  }
};

struct HeadNormRopeFunction : Function<HeadNormRopeFunction> {
  static loops::HeadShape Shape(const at::Tensor& x, std::int64_t dim, std::int64_t begin) {
    return {.tokens = x.size(0) * x.size(1),
            .length = x.size(1),
            .heads = x.size(2) / dim,
            .dim = dim,
            .begin = begin};
  }

  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor& weight,
                            const at::Tensor& cos, const at::Tensor& sin, std::int64_t begin,
                            double epsilon) {
    const at::Tensor x = input.contiguous();
    const std::int64_t dim = weight.numel();
    at::Tensor y = at::empty({x.size(0), x.size(1), x.size(2) / dim, dim}, x.options());
    ByType(x, [&](auto t) {
      using T = decltype(t);
      loops::HeadNormRope(In<T>(x), In<T>(weight), In<T>(cos), In<T>(sin), Out<T>(y), Shape(x, dim, begin),
                          epsilon);
    });
    context->save_for_backward({x, weight, cos, sin});
    context->saved_data["begin"] = begin;
    context->saved_data["epsilon"] = epsilon;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &cos = saved[2], &sin = saved[3];
    const std::int64_t begin = context->saved_data["begin"].toInt();
    const double epsilon = context->saved_data["epsilon"].toDouble();
    const at::Tensor dy = grads[0].contiguous();
    at::Tensor dx = at::empty_like(x), dw = at::zeros_like(weight);
    ByType(x, [&](auto t) {
      using T = decltype(t);
      loops::HeadNormRopeBackward(In<T>(dy), In<T>(x), In<T>(weight), In<T>(cos), In<T>(sin), Out<T>(dx),
                                  Out<T>(dw), Shape(x, weight.numel(), begin), epsilon);
    });
    return {dx, dw, at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

struct SwiGluFunction : Function<SwiGluFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gate_in, const at::Tensor& up_in) {
    const at::Tensor gate = gate_in.contiguous(), up = up_in.contiguous();
    at::Tensor y = at::empty_like(gate);
    ByType(gate, [&](auto t) {
      using T = decltype(t);
      loops::SwiGlu(In<T>(gate), In<T>(up), Out<T>(y), gate.numel());
    });
    context->save_for_backward({gate, up});
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor dy = grads[0].contiguous();
    at::Tensor dgate = at::empty_like(saved[0]), dup = at::empty_like(saved[1]);
    ByType(dy, [&](auto t) {
      using T = decltype(t);
      loops::SwiGluBackward(In<T>(dy), In<T>(saved[0]), In<T>(saved[1]), Out<T>(dgate), Out<T>(dup),
                            dy.numel());
    });
    return {dgate, dup};
  }
};

at::Tensor CutPatches(const at::Tensor& image_in, std::int64_t patch, double scale, double shift) {
  const at::Tensor image = image_in.contiguous();
  const std::int64_t rows = image.size(0), channels = image.size(1), size = image.size(2),
                     grid = size / patch;
  at::Tensor patches = at::empty({rows, grid * grid, channels * patch * patch}, image.options());
  ByType(image, [&](auto t) {
    using T = decltype(t);
    loops::ToPatches(In<T>(image), Out<T>(patches), {rows, channels, size, patch}, static_cast<T>(scale),
                     static_cast<T>(shift));
  });
  return patches;
}

at::Tensor JoinPatches(const at::Tensor& patches_in, std::int64_t size, std::int64_t patch, double scale,
                       double shift) {
  const at::Tensor patches = patches_in.contiguous();
  const std::int64_t rows = patches.size(0), channels = patches.size(2) / (patch * patch);
  at::Tensor image = at::empty({rows, channels, size, size}, patches.options());
  ByType(patches, [&](auto t) {
    using T = decltype(t);
    loops::FromPatches(In<T>(patches), Out<T>(image), {rows, channels, size, patch}, static_cast<T>(scale),
                       static_cast<T>(shift));
  });
  return image;
}

// Both directions are linear, each is the other's backward.
struct ToPatchesFunction : Function<ToPatchesFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& image, std::int64_t patch,
                            double scale, double shift) {
    context->saved_data["size"] = image.size(2);
    context->saved_data["patch"] = patch;
    context->saved_data["scale"] = scale;
    return CutPatches(image, patch, scale, shift);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    auto& data = context->saved_data;
    return {JoinPatches(grads[0], data["size"].toInt(), data["patch"].toInt(), data["scale"].toDouble(), 0),
            at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

struct FromPatchesFunction : Function<FromPatchesFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& patches, std::int64_t size,
                            std::int64_t patch, double scale, double shift) {
    context->saved_data["patch"] = patch;
    context->saved_data["scale"] = scale;
    return JoinPatches(patches, size, patch, scale, shift);
  }
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    auto& data = context->saved_data;
    return {CutPatches(grads[0], data["patch"].toInt(), data["scale"].toDouble(), 0), at::Tensor(),
            at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

RopeTables MakeRopeTables(std::int64_t positions, std::int64_t head_dim, double base,
                          const at::TensorOptions& options) {
  const auto wide = options.dtype(at::kDouble);
  const at::Tensor frequency =
      at::pow(base, at::arange(0, head_dim, 2, wide) * (-1.0 / static_cast<double>(head_dim)));
  const at::Tensor angle = at::arange(positions, wide).unsqueeze(1) * frequency;
  return {at::cos(angle).to(options), at::sin(angle).to(options)};
}

at::Tensor Project(const at::Tensor& x, const at::Tensor& weight) {
  return ProjectFunction::apply(x, weight, std::nullopt)[0];
}

std::pair<at::Tensor, at::Tensor> Project(const at::Tensor& x, const at::Tensor& first,
                                          const at::Tensor& second) {
  variable_list out = ProjectFunction::apply(x, first, std::optional<at::Tensor>(second));
  return {std::move(out[0]), std::move(out[1])};
}

at::Tensor RmsNorm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  return HasLoops(x) ? RmsNormFunction::apply(x, weight, epsilon) : composite::RmsNorm(x, weight, epsilon);
}

at::Tensor HeadNormRope(const at::Tensor& x, const at::Tensor& weight, const RopeTables& tables,
                        std::int64_t begin, double epsilon) {
  if (!HasLoops(x)) return composite::HeadNormRope(x, weight, tables, begin, epsilon);
  return HeadNormRopeFunction::apply(x, weight, tables.cos, tables.sin, begin, epsilon).transpose(1, 2);
}

at::Tensor SwiGlu(const at::Tensor& gate, const at::Tensor& up) {
  return HasLoops(gate) ? SwiGluFunction::apply(gate, up) : composite::SwiGlu(gate, up);
}

at::Tensor ToPatches(const at::Tensor& image, std::int64_t patch, double scale, double shift) {
  return HasLoops(image) ? ToPatchesFunction::apply(image, patch, scale, shift)
                         : composite::ToPatches(image, patch, scale, shift);
}

at::Tensor FromPatches(const at::Tensor& patches, std::int64_t size, std::int64_t patch, double scale,
                       double shift) {
  return HasLoops(patches) ? FromPatchesFunction::apply(patches, size, patch, scale, shift)
                           : composite::FromPatches(patches, size, patch, scale, shift);
}

}  // namespace medley
