#pragma once

#include "python/binding/python.h"

#include <exception>
#include <string>

namespace medley::python {

// Exceptions cross between C++ and Python in words: with FILE:LINE, and the author's own frames. Out of
// memory stays what it is on the way to C++, as medley then tries again with fewer rows.

// What C++ threw within a call from Python, so that it comes out again as it was.
class Kept {
 public:
  // Within a handler: behind it there is no current exception.
  void Keep() { thrown_ = std::current_exception(); }
  // Throws what was kept where words would lose what it is: out of memory, a device's error, an interrupt,
  // and what is no std::exception. Returns where there is nothing of that kind.
  void RethrowWhatIsNoWord() const;
  explicit operator bool() const { return thrown_ != nullptr; }

 private:
  std::exception_ptr thrown_;
};

// Throws what Python has raised and ends its traceback, whose frames hold tensors: torch's OutOfMemoryError
// as libtorch's, else an Error in words. `kept`: what C++ threw below, where that is what came up again. With
// the GIL.
[[noreturn]] void ThrowRaised(const Kept* kept = nullptr);

// Within a handler: raises what was caught as medley.Error (MemoryError and torch's as torch's), with its
// `code`. With the GIL.
void RaiseCaught() noexcept;
void RaiseError(const std::string& words, int code = 1) noexcept;

// Runs C++ on behalf of Python, with the GIL: what it throws is raised, and null returned.
template <typename Fn>
PyObject* Guarded(const Fn& fn) noexcept {
  try {
    return Object(fn()).release();
  } catch (...) {
    RaiseCaught();
  }
  return nullptr;
}
// The same without the GIL, of what returns nothing: false where it raised.
template <typename Fn>
bool Free(const Fn& fn) noexcept {
  std::exception_ptr thrown;
  {
    const NoGil free;
    try {
      fn();
    } catch (...) {
      thrown = std::current_exception();
    }
  }
  if (thrown == nullptr) return true;
  try {
    std::rethrow_exception(thrown);
  } catch (...) {
    RaiseCaught();
  }
  return false;
}

// medley.Error, made by AddErrors.
PyObject* ErrorType();
void AddErrors(PyObject* module);

// What a Python callable makes of (exception, traceback or None): words. Without one the exception's own.
void SayExceptionsBy(PyObject* words);

}  // namespace medley::python
