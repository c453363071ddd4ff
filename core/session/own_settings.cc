#include <medley/session/own_settings.h>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <c10/core/DefaultDtype.h>

#include <thread>

#include <medley/memory/cpu_allocator.h>

namespace medley {
namespace {

const at::ThreadLocalState& OfANewThread() {
  static const at::ThreadLocalState state = [] {
    std::optional<at::ThreadLocalState> made;
    std::thread([&] { made.emplace(); }).join();
    return *made;
  }();
  return state;
}

// A generator's state is a tensor, which a budget that is used up to the last byte must not cost a run.
GeneratorStates GeneratorsBeyondBudget(at::Device device) {
  const std::int64_t budget = CpuBudget();
  SetCpuBudget(0);
  GeneratorStates states(device);
  SetCpuBudget(budget);
  return states;
}

}  // namespace

LibtorchSettings::LibtorchSettings(at::Device device)
    : generators_(GeneratorsBeyondBudget(device)),
      threads_(at::get_num_threads()),
      default_type_(c10::get_default_dtype_as_scalartype()),
      deterministic_(at::globalContext().deterministicAlgorithms()),
      only_warns_(at::globalContext().deterministicAlgorithmsWarnOnly()),
      deterministic_cudnn_(at::globalContext().deterministicCuDNN()),
      fills_(at::globalContext().deterministicFillUninitializedMemory()) {}

void LibtorchSettings::PutBack() const {
  generators_.PutBack();
  if (at::get_num_threads() != threads_) at::set_num_threads(threads_);  // which drops what oneDNN has cached
  c10::set_default_dtype(c10::scalarTypeToTypeMeta(default_type_));
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(deterministic_, only_warns_);
  context.setDeterministicCuDNN(deterministic_cudnn_);
  context.setDeterministicFillUninitializedMemory(fills_);
}

OwnSettings::Turn::Turn(OwnSettings& own)
    : own_(own), as_in_a_new_thread_(OfANewThread()), before_(own.device_) {
  if (own.own_)
    own.own_->PutBack();
  else
    c10::set_default_dtype(c10::scalarTypeToTypeMeta(at::kFloat));
}

OwnSettings::Turn::~Turn() {
  own_.own_.emplace(own_.device_);
  before_.PutBack();
}

}  // namespace medley
