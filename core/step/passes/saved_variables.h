#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <set>

namespace torch::autograd {
struct Engine;
}

namespace medley {

// What autograd saves for the backward, seen through the one slot for hooks that the engine has in C++.
//
// Its users share the slot through a stack of scopes, one stack a thread: the innermost keeper decides what
// becomes of a tensor that an operator saves. Without a scope nothing changes.
//
// A process has one default engine, and who puts his there last has the slot. So ours keeps the one that it
// found, libtorch's own or, after `import torch`, Python's, and is nothing but a slot before it: that one
// computes, and has its hooks wherever no scope of ours is open inside of them.

// Puts our engine before the one that is there. Every scope does so as it opens, whatever was put there
// meanwhile. On a GPU the engine of the first backward has the process's threads for it, and no other ever
// has any: so `import torch` comes before that one.
void InstallSavedVariableHooks();
// The engine that ours forwards to, which is ahead of all others then. Who is to stand between the two, as
// Python's face must to tell what a backward of Python's threw, puts his there and calls Install again.
torch::autograd::Engine& ComputingEngine();

// Stands in a graph for a saved tensor. Lives and dies with the node that saved it; on CUDA the engine's own
// threads call it.
class KeptTensor {
 public:
  virtual ~KeptTensor();
  virtual at::Tensor Get() = 0;
};

// Decides how saved tensors are kept.
class SavedTensorKeeper {
 public:
  virtual ~SavedTensorKeeper();
  // Called without gradients. The tensor itself must not be kept: with its history it would be a cycle.
  virtual std::unique_ptr<KeptTensor> Keep(const at::Tensor& tensor) = 0;
};

// Sends everything that this thread saves to the keeper while the object lives, which ends on the same
// thread, in the opposite order of scopes. The keeper outlives it.
class KeepSavedTensors {
 public:
  explicit KeepSavedTensors(SavedTensorKeeper& keeper);
  ~KeepSavedTensors();
  KeepSavedTensors(const KeepSavedTensors&) = delete;
  KeepSavedTensors& operator=(const KeepSavedTensors&) = delete;
};

// A tensor without its history, and whether it was written to since. Get throws an Error in that case.
class UnchangedTensor {
 public:
  explicit UnchangedTensor(const at::Tensor& tensor);
  at::Tensor Get() const;

 private:
  at::Tensor tensor_;
  std::int64_t version_;
};

// Counts what this thread saves while the object lives. Of a layer that is run again that is its input.
class CountSavedBytes {
 public:
  // The storages of what lives anyway: parameters, constants.
  explicit CountSavedBytes(std::set<const void*> excluded_storages = {});
  ~CountSavedBytes();
  CountSavedBytes(const CountSavedBytes&) = delete;
  CountSavedBytes& operator=(const CountSavedBytes&) = delete;

  void Exclude(const at::Tensor& tensor);
  // Each storage once and whole, without the excluded ones: every pass saves the weights again.
  std::int64_t bytes() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

// Lets the scopes that count take this tensor for saved; for keepers, before their scope opens.
void CountAsSaved(const at::Tensor& tensor);

// The key of a tensor's storage.
const void* StorageKey(const at::Tensor& tensor);

}  // namespace medley
