#pragma once

#include <c10/util/Exception.h>

#include <exception>
#include <string>
#include <utility>

#include <medley/base/crash.h>
#include <medley/base/error.h>
#include <medley/base/interrupt.h>

namespace medley {

// Calls into a plugin's code: whatever it throws becomes an Error (or InputError) that begins with
// "plugin 'zoom' (task zoom_gold, while sampling rows 0..8): ", and a crash begins its words so.
// Out-of-memory passes unchanged, for who can help it, and so do an interrupt and a device that failed, for
// which nobody can.
template <typename Fn>
auto CallPlugin(const std::string& plugin, const std::string& task, const std::string& phase, Fn&& fn) {
  const std::string doing = "plugin '" + plugin + "' (task " + task + ", while " + phase + ")";
  const auto prefix = [&] { return doing + ": "; };
  const CrashScope scope(doing);
  try {
    return std::forward<Fn>(fn)();
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const c10::AcceleratorError&) {
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (const c10::Error& e) {
    throw Error(prefix() + e.what_without_backtrace());
  } catch (const InputError& e) {
    throw InputError(prefix() + e.what());
  } catch (const Error& e) {
    throw Error(prefix() + e.what(), e.code());
  } catch (const std::exception& e) {
    throw Error(prefix() + e.what());
  } catch (...) {
    throw Error(prefix() + "threw something that is not a std::exception");
  }
}

}  // namespace medley
