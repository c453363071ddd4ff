#include <medley/cluster/gradient_exchange.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include <medley/base/clock.h>
#include <medley/model/float_type.h>

namespace medley {
namespace {

constexpr std::size_t kBits = 62;  // of a number that is not negative

at::ScalarType GradientType(const at::Tensor& parameter) { return AtLeastFloat(parameter.scalar_type()); }

// How many numbers of this type are summed at once.
std::int64_t BufferSize(const std::vector<at::Tensor>& parameters, at::ScalarType type,
                        std::int64_t bucket_bytes) {
  std::int64_t numbers = 0;
  for (const at::Tensor& parameter : parameters)
    numbers += GradientType(parameter) == type ? parameter.numel() : 0;
  const auto most = bucket_bytes / static_cast<std::int64_t>(c10::elementSize(type));
  return std::min(numbers, std::max<std::int64_t>(1, most));
}

bool IsSet(const std::vector<std::int64_t>& bits, std::size_t index) {
  return (bits[index / kBits] >> (index % kBits) & 1) != 0;
}

}  // namespace

GradientExchange::GradientExchange(ProcessGroup& group, std::vector<at::Tensor> parameters,
                                   std::int64_t bucket_bytes)
    : group_(group), parameters_(std::move(parameters)) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    if (const std::int64_t size = BufferSize(parameters_, type, bucket_bytes); size > 0)
      buffers_.push_back(at::empty({size}, at::TensorOptions(type).device(group.device())));
  }
}

std::vector<std::int64_t> GradientExchange::Used() const {
  std::vector<std::int64_t> bits((parameters_.size() + kBits - 1) / kBits);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].grad().defined()) bits[i / kBits] |= std::int64_t{1} << (i % kBits);
  }
  return bits;
}

void GradientExchange::Prepare(const std::vector<std::int64_t>& used) {
  const at::NoGradGuard no_gradients;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    at::Tensor& parameter = parameters_[i];
    if (!IsSet(used, i)) continue;
    at::Tensor& gradient = parameter.mutable_grad();
    if (!gradient.defined())
      gradient = at::zeros(parameter.sizes(), parameter.options().dtype(GradientType(parameter)));
    if (!gradient.is_contiguous()) gradient = gradient.contiguous();
  }
}

void GradientExchange::Sum(const std::vector<std::int64_t>& used) {
  const at::NoGradGuard no_gradients;
  for (at::Tensor& buffer : buffers_) SumThrough(buffer, used);
  group_.Settle();
}

// All parts as one line of numbers, a buffer's length at a time.
void GradientExchange::Through(at::Tensor& buffer, const std::vector<at::Tensor>& parts, const Pass& pass) {
  std::vector<Span> spans;
  std::int64_t filled = 0;
  const auto flush = [&] {
    at::Tensor numbers = buffer.narrow(0, 0, filled);
    pass(spans, numbers);
    spans.clear();
    filled = 0;
  };
  for (const at::Tensor& part : parts) {
    for (std::int64_t done = 0; done < part.numel();) {
      const std::int64_t count = std::min(part.numel() - done, buffer.numel() - filled);
      spans.push_back({part.narrow(0, done, count), filled});
      done += count;
      filled += count;
      if (filled == buffer.numel()) flush();
    }
  }
  if (filled > 0) flush();
}

void GradientExchange::SumThrough(at::Tensor& buffer, const std::vector<std::int64_t>& used) {
  std::vector<at::Tensor> gradients;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (IsSet(used, i) && GradientType(parameters_[i]) == buffer.scalar_type())
      gradients.push_back(parameters_[i].grad().view({-1}));
  }
  Through(buffer, gradients, [&](const std::vector<Span>& spans, at::Tensor& numbers) {
    for (const Span& span : spans) numbers.narrow(0, span.begin, span.part.numel()).copy_(span.part);
    group_.AllReduce(numbers);
    for (const Span& span : spans) span.part.copy_(numbers.narrow(0, span.begin, span.part.numel()));
    summed_bytes_ += static_cast<std::int64_t>(numbers.nbytes());
  });
}

// One after the other, each from who has it. c10d's all-gather sends as much, but over Gloo it makes copies
// of all that it gathers, and wants as much from each.
void GradientExchange::Spread(const std::vector<Owned>& parts) {
  const at::NoGradGuard no_gradients;
  const double began = SteadySeconds();
  for (at::Tensor& buffer : buffers_) {
    for (std::int64_t rank = 0; rank < group_.size(); ++rank) {
      std::vector<at::Tensor> of_rank;
      for (const Owned& part : parts) {
        if (part.rank == rank && part.numbers.scalar_type() == buffer.scalar_type())
          of_rank.push_back(part.numbers);
      }
      const bool is_own = rank == group_.rank();
      Through(buffer, of_rank, [&](const std::vector<Span>& spans, at::Tensor& numbers) {
        const auto place_of = [&](const Span& span) {
          return numbers.narrow(0, span.begin, span.part.numel());
        };
        if (is_own) {
          for (const Span& span : spans) place_of(span).copy_(span.part);
        }
        group_.Broadcast(numbers, rank);
        if (is_own) return;
        for (const Span& span : spans) span.part.copy_(place_of(span));
      });
    }
  }
  group_.Settle();
  seconds_spreading_ += SteadySeconds() - began;
}

std::int64_t GradientExchange::BufferBytes(const std::vector<at::Tensor>& parameters) {
  std::int64_t bytes = 0;
  for (const at::ScalarType type : {at::kFloat, at::kDouble})
    bytes += BufferSize(parameters, type, kBucketBytes) * static_cast<std::int64_t>(c10::elementSize(type));
  return bytes;
}

std::int64_t GradientExchange::buffer_bytes() const {
  std::int64_t bytes = 0;
  for (const at::Tensor& buffer : buffers_) bytes += static_cast<std::int64_t>(buffer.nbytes());
  return bytes;
}

}  // namespace medley
