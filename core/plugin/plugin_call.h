#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <c10/util/typeid.h>

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <medley/base/crash.h>
#include <medley/base/error.h>
#include <medley/base/interrupt.h>
#include <medley/base/printable.h>

namespace medley {

// Puts back what a plugin's code may move while it is loaded, makes a task or builds a constant: the default
// generators of the CPU and of every CUDA device, the default dtype, grad mode, the number of threads.
// Without it, what a run computes would depend on when each of its tasks was drawn first. Until then the
// generators are seeded, so that what the plugin draws does not depend on it either.
class GlobalStateGuard {
 public:
  explicit GlobalStateGuard(std::uint64_t seed);
  ~GlobalStateGuard();
  GlobalStateGuard(const GlobalStateGuard&) = delete;
  GlobalStateGuard& operator=(const GlobalStateGuard&) = delete;

 private:
  std::vector<std::pair<at::Generator, at::Tensor>> generators_;  // with their state
  caffe2::TypeMeta dtype_;
  bool grad_mode_;
  int threads_;
};

// Out of memory passes a plugin's call unchanged, for who can help it, and so do an interrupt and a device
// that failed, for which nobody can.
inline bool Passes(const std::exception& error) {
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
         dynamic_cast<const c10::AcceleratorError*>(&error) != nullptr ||
         dynamic_cast<const Interrupted*>(&error) != nullptr;
}

// Calls it, and gives what it throws, and does not pass, other words, by `words(what)`. What is neither
// medley's nor libtorch's is `strangers(what)` to throw.
template <typename Fn, typename Words, typename Strangers>
auto WithOtherWords(Fn&& fn, const Words& words, const Strangers& strangers) {
  try {
    return std::forward<Fn>(fn)();
  } catch (const c10::Error& e) {
    if (Passes(e)) throw;
    throw Error(words(e.what_without_backtrace()));
  } catch (const InputError& e) {
    throw InputError(words(e.what()));
  } catch (const Error& e) {
    if (Passes(e)) throw;
    throw Error(words(e.what()), e.code());
  } catch (const std::exception& e) {
    strangers(e.what());
    throw;
  }
}

// Calls into a plugin's code: whatever it throws becomes an Error (or InputError) that begins with
// "plugin 'zoom' (task zoom_gold, while sampling rows 0..8): ", and a crash begins its words so. What
// WithOtherWords lets pass passes.
template <typename Fn>
auto CallPlugin(const std::string& plugin, const std::string& task, const std::string& activity, Fn&& fn) {
  const std::string who = "plugin '" + Printable(plugin) + "' (task " + task + ", ";
  const std::string doing = who + "while " + activity;
  // An evaluation runs passes, whose errors name plugin and task already.
  const auto words = [&](std::string_view what) {
    if (!what.starts_with(who)) return doing + "): " + std::string(what);
    return doing + ", " + std::string(what.substr(who.size()));
  };
  const std::string crashed = doing + ")";
  const CrashScope scope(crashed);
  try {
    return WithOtherWords(std::forward<Fn>(fn), words, [&](const char* what) { throw Error(words(what)); });
  } catch (const std::exception&) {
    throw;
  } catch (...) {
    throw Error(words("threw something that is not a std::exception"));
  }
}

}  // namespace medley
