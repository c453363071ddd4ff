#include "python/binding/raised.h"

#include <c10/util/Exception.h>

#include <utility>

#include <medley/base/error.h>
#include <medley/base/interrupt.h>

#include "python/binding/tensors.h"

namespace medley::python {
namespace {

PyObject* g_error = nullptr;  // medley.Error
PyObject* g_words = nullptr;

std::string PlainWords(PyObject* value) {
  const Object text(value == nullptr ? nullptr : PyObject_Str(value));
  Py_ssize_t size = 0;
  const char* bytes = text ? PyUnicode_AsUTF8AndSize(text.get(), &size) : nullptr;
  PyErr_Clear();
  return bytes != nullptr && size > 0 ? std::string(bytes, static_cast<std::size_t>(size))
                                      : "an exception without words";
}

std::string WordsOf(PyObject* value, PyObject* trace) {
  if (g_words == nullptr || value == nullptr) return PlainWords(value);
  const Object said(
      PyObject_CallFunctionObjArgs(g_words, value, trace != nullptr ? trace : Py_None, nullptr));
  Py_ssize_t size = 0;
  const char* bytes = said ? PyUnicode_AsUTF8AndSize(said.get(), &size) : nullptr;
  if (bytes != nullptr) return {bytes, static_cast<std::size_t>(size)};
  PyErr_Clear();
  return PlainWords(value);
}

// A Ctrl-C in Python that C++ had called: it comes out as one, and as no Error that a program would take for
// a failure.
thread_local bool g_keyboard_interrupt = false;

struct Raised {
  std::string words;
  bool ours = false, out_of_memory = false, bad_input = false;
};

// Of a medley.Error.
long CodeOf(PyObject* value) {
  const Object code(PyObject_GetAttrString(value, "code"));
  const long number = code ? PyLong_AsLong(code.get()) : 0;
  PyErr_Clear();
  return number;
}

// Fetches it: afterwards nothing is raised any more, and no frame of it lives.
Raised TakeRaised() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const Object owned_type(type), owned_value(value), owned_trace(trace);
  Raised raised;
  raised.ours = g_error != nullptr && type != nullptr && PyErr_GivenExceptionMatches(type, g_error) == 1;
  PyObject* const no_memory = OutOfMemoryType();
  raised.out_of_memory =
      type != nullptr && ((no_memory != nullptr && PyErr_GivenExceptionMatches(type, no_memory) == 1) ||
                          PyErr_GivenExceptionMatches(type, PyExc_MemoryError) == 1);
  raised.bad_input = raised.ours && CodeOf(value) == static_cast<long>(ExitCode::kBadInput);
  if (type != nullptr && PyErr_GivenExceptionMatches(type, PyExc_KeyboardInterrupt) == 1)
    g_keyboard_interrupt = true;
  raised.words = WordsOf(value, trace);
  return raised;
}

}  // namespace

void Kept::RethrowWhatIsNoWord() const {
  if (thrown_ == nullptr) return;
  try {
    std::rethrow_exception(thrown_);
  } catch (const c10::OutOfMemoryError&) {
    throw;
  } catch (const c10::AcceleratorError&) {
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {  // in words, with its place in Python
  }
}

void ThrowRaised(const Kept* kept) {
  const Raised raised = TakeRaised();
  if (kept != nullptr && raised.ours) kept->RethrowWhatIsNoWord();
  if (raised.out_of_memory) C10_THROW_ERROR(OutOfMemoryError, raised.words);
  HeedInterrupt();
  if (raised.bad_input) throw InputError(raised.words);
  throw Error(raised.words);
}

void RaiseError(const std::string& words, int code) noexcept {
  PyObject* const type = g_error != nullptr ? g_error : PyExc_RuntimeError;
  const Object text(PyUnicode_DecodeUTF8(words.data(), static_cast<Py_ssize_t>(words.size()), "replace"));
  const Object error(text ? PyObject_CallFunctionObjArgs(type, text.get(), nullptr) : nullptr);
  if (!error) return;
  const Object number(PyLong_FromLong(code));
  if (PyObject_SetAttrString(error.get(), "code", number.get()) != 0) PyErr_Clear();
  PyErr_SetObject(type, error.get());
}

void RaiseCaught() noexcept {
  if (std::exchange(g_keyboard_interrupt, false)) return PyErr_SetNone(PyExc_KeyboardInterrupt);
  try {
    throw;
  } catch (const Error& error) {
    RaiseError(error.what(), static_cast<int>(error.code()));
  } catch (const c10::OutOfMemoryError& error) {
    if (PyObject* const type = OutOfMemoryType(); type != nullptr)
      PyErr_SetString(type, error.what_without_backtrace());
    else
      RaiseError(error.what_without_backtrace(), static_cast<int>(ExitCode::kDoesNotFit));
  } catch (const c10::Error& error) {
    RaiseError(error.what_without_backtrace());
  } catch (const std::exception& error) {
    RaiseError(error.what());
  } catch (...) {  // a marker that is on its way through a pass
    RaiseError("stopped");
  }
}

PyObject* ErrorType() { return g_error; }

void AddErrors(PyObject* module) {
  g_error = PyErr_NewExceptionWithDoc(
      "medley.Error",
      "What failed, what was expected, what to do. `code`: the exit code that the command ends with.",
      PyExc_RuntimeError, nullptr);
  if (g_error == nullptr) return;
  const Object failed(PyLong_FromLong(static_cast<long>(ExitCode::kFailed)));
  PyObject_SetAttrString(g_error, "code", failed.get());
  PyModule_AddObjectRef(module, "Error", g_error);
}

void SayExceptionsBy(PyObject* words) {
  Py_XINCREF(words);
  Py_XDECREF(std::exchange(g_words, words));
}

Object Checked(PyObject* owned) {
  if (owned == nullptr) ThrowRaised();
  return Object(owned);
}

std::string Text(PyObject* text) {
  if (PyUnicode_Check(text) == 0) {
    const Object type =
        Checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(text)), "__name__"));
    throw Error("a name or a text must be of str, and is of " + Text(type.get()));
  }
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text, &size);
  if (bytes == nullptr) ThrowRaised();
  return {bytes, static_cast<std::size_t>(size)};
}

Object TextObject(std::string_view text) {
  return Checked(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

std::int64_t Integer(PyObject* value) {
  const long long number = PyLong_AsLongLong(value);
  if (number == -1 && PyErr_Occurred() != nullptr) ThrowRaised();
  return number;
}

PyObject* Interned(const char* name) {
  PyObject* const made = PyUnicode_InternFromString(name);
  if (made == nullptr) ThrowRaised();
  return made;
}

}  // namespace medley::python
