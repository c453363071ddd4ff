#pragma once

#include <c10/util/Exception.h>

#include <exception>
#include <string>
#include <string_view>
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
  const std::string who = "plugin '" + plugin + "' (task " + task + ", ";
  const std::string doing = who + "while " + phase;
  // An evaluation runs passes, whose errors name plugin and task already.
  const auto words = [&](std::string_view what) {
    if (!what.starts_with(who)) return doing + "): " + std::string(what);
    return doing + ", " + std::string(what.substr(who.size()));
  };
  const std::string crashed = doing + ")";
  const CrashScope scope(crashed);
  try {
    return std::forward<Fn>(fn)();
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const c10::AcceleratorError&) {
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (const c10::Error& e) {
    throw Error(words(e.what_without_backtrace()));
  } catch (const InputError& e) {
    throw InputError(words(e.what()));
  } catch (const Error& e) {
    throw Error(words(e.what()), e.code());
  } catch (const std::exception& e) {
    throw Error(words(e.what()));
  } catch (...) {
    throw Error(words("threw something that is not a std::exception"));
  }
}

}  // namespace medley
