#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <set>

namespace medley {

// What autograd saves for the backward, seen through the one slot for hooks that the engine has in C++.
//
// Its users share the slot through a stack of scopes, one stack a thread: the innermost keeper decides what
// becomes of a tensor that an operator saves. Without a scope nothing changes.

// Puts an engine with the slot in the place of libtorch's. Call before the first backward: whichever engine
// makes that one has the process's threads for a GPU, and no other ever has any. Calling again changes
// nothing.
void InstallSavedVariableHooks();

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
