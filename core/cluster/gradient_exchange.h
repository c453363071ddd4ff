#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include <medley/cluster/group.h>

namespace medley {

// Sums the gradients of the processes of a run. Each has them of what its own rows used; a parameter that no
// process used has none afterwards either, on any: it is not exchanged, and the optimizer leaves it alone.
// One buffer on the group's device, made at the start, is all the memory that it takes, beside gradients of
// zeros for what only others used. Where the update is divided too, what each process updated goes through
// the same buffer. On the trainer's thread.
class GradientExchange {
 public:
  static constexpr std::int64_t kBucketBytes = std::int64_t{25} << 20;

  // `parameters`: those that are trained, in an order that is the same on all. The group outlives it.
  GradientExchange(ProcessGroup& group, std::vector<at::Tensor> parameters,
                   std::int64_t bucket_bytes = kBucketBytes);

  // Which parameters have a gradient here, one bit for each; as many numbers on all.
  std::vector<std::int64_t> Used() const;
  // Makes room for what others used. c10::OutOfMemoryError where there is none; Sum then needs no memory.
  void Prepare(const std::vector<std::int64_t>& used);
  // `used`: of all processes together, which was prepared for. Afterwards each of these parameters has the
  // sum.
  void Sum(const std::vector<std::int64_t>& used);

  // Numbers that are right on one process: [count], of a type that gradients have.
  struct Owned {
    at::Tensor numbers;
    std::int64_t rank = 0;  // whose they are
  };
  // Gives them to all: the same list on all, with their own memory. Takes no memory.
  void Spread(const std::vector<Owned>& parts);

  std::int64_t buffer_bytes() const;
  // What that will be.
  static std::int64_t BufferBytes(const std::vector<at::Tensor>& parameters);
  // Seconds that Spread took so far.
  double seconds_spreading() const { return seconds_spreading_; }
  // Bytes of gradients that were summed so far.
  std::int64_t summed_bytes() const { return summed_bytes_; }

 private:
  struct Span {
    at::Tensor part;  // of a gradient or of weights, flat
    std::int64_t begin = 0;
  };
  // Is called with each piece of the buffer's length or less, and where its numbers belong.
  using Pass = std::function<void(const std::vector<Span>& spans, at::Tensor& numbers)>;
  static void Through(at::Tensor& buffer, const std::vector<at::Tensor>& parts, const Pass& pass);
  void SumThrough(at::Tensor& buffer, const std::vector<std::int64_t>& used);

  ProcessGroup& group_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> buffers_;  // one of each type
  std::int64_t summed_bytes_ = 0;
  double seconds_spreading_ = 0;
};

}  // namespace medley
