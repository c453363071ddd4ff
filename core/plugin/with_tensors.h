#pragma once

#include <c10/util/Exception.h>

#include <functional>
#include <string>

#include <medley/base/error.h>

#include <medley/plugin/author_frame.h>

namespace medley {

// Runs a plugin's code: what libtorch throws in it becomes an Error with its words, where in the plugin that
// was, and the tensors that were there (null: nobody says), in lines. Out of memory and a device that failed
// pass unchanged.
template <typename Fn>
auto WithTensors(const std::string& plugin, const std::function<std::string()>& tensors, const Fn& fn) {
  try {
    return fn();
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const c10::AcceleratorError&) {
    throw;
  } catch (const c10::Error& error) {
    throw Error(error.what_without_backtrace() + AuthorFrame(error, plugin) + (tensors ? tensors() : ""));
  }
}

}  // namespace medley
