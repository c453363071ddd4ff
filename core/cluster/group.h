#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <medley/base/error.h>
#include <medley/cluster/wire.h>

namespace medley {

// Another process of the run ended, hangs or cannot be reached. Nothing can be exchanged from then on.
class PeerError final : public Error {
 public:
  explicit PeerError(const std::string& message);
  ~PeerError() override;
};

// What the processes of a run exchange went wrong in this one, after others may have had their part of it: it
// can only end.
class ExchangeError final : public Error {
 public:
  using Error::Error;
  ~ExchangeError() override;
};

// Processes that call the same functions in the same order, with tensors of the same sizes and types: each
// call waits until all have made it; on a GPU it is what is asked of the GPU afterwards that waits. Where
// they differ a process may be ended by the library below, so what they are about to exchange is agreed upon
// first (RollCall). A PeerError where one of them is gone or does not come in time. Tensors are contiguous,
// and on the group's device. On the trainer's thread.
class ProcessGroup {
 public:
  virtual ~ProcessGroup();

  virtual std::int64_t rank() const = 0;
  virtual std::int64_t size() const = 0;
  virtual at::Device device() const = 0;

  // Of every process's values the sum, element by element, the same bits on each.
  virtual void AllReduce(at::Tensor& values) = 0;
  // Those of one process.
  virtual void Broadcast(at::Tensor& values, std::int64_t from) = 0;
  // Every process's, one behind the other: `all` is size() times as large as `own`.
  virtual void AllGather(at::Tensor& all, const at::Tensor& own) = 0;
  // Of the sums the part of this process: `all` is size() times as large as `own`.
  virtual void ReduceScatter(at::Tensor& own, const at::Tensor& all) = 0;
  // Waits until all that was called is done, also on a GPU.
  virtual void Settle() = 0;
  // How long a call waits for the others.
  virtual void SetTimeout(std::chrono::milliseconds timeout) = 0;
};

// A process by itself: every call gives back what it was given.
std::unique_ptr<ProcessGroup> GroupOfOne();

// Every process's numbers, in the order of ranks; as many of each.
std::vector<std::vector<std::int64_t>> GatherNumbers(ProcessGroup& group,
                                                     const std::vector<std::int64_t>& own);
// The same of any number of them.
std::vector<std::vector<std::int64_t>> GatherLists(ProcessGroup& group, std::vector<std::int64_t> own);
// Every process's message, in the order of ranks; its lists are as long in each.
template <typename Message>
std::vector<Message> GatherMessages(ProcessGroup& group, const Message& own) {
  std::vector<Message> all;
  for (const auto& numbers : GatherNumbers(group, ToWire(own))) all.push_back(FromWire(numbers, own));
  return all;
}
// The same of messages of any length.
template <typename Message>
std::vector<Message> Gather(ProcessGroup& group, const Message& own) {
  std::vector<Message> all;
  for (const auto& numbers : GatherLists(group, ToWire(own))) all.push_back(FromWire<Message>(numbers));
  return all;
}
// Waits until all are here.
void Barrier(ProcessGroup& group);
// The text of one process, on all.
std::string Broadcast(ProcessGroup& group, const std::string& text, std::int64_t from = 0);
// What ends a run wherever it comes up, so that who goes on after other errors passes it: a device or an
// exchange that failed. Every later call of theirs fails too.
bool EndsTheRun(const std::exception& error);

}  // namespace medley
