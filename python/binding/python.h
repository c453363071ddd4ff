#pragma once

// CPython's limited API (one binary for 3.10 and whatever comes after), with owners for what it hands out. No
// binding library: tensors pass as torch's own objects (tensors.h), exceptions in words (raised.h).

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace medley::python {

// Holds the GIL. On any thread, also within another one. A thread's state is made once and kept: that costs
// more than a call, and a data thread may end while the interpreter does.
class Gil {
 public:
  Gil() {
    static thread_local bool known = false;
    if (!std::exchange(known, true) && PyGILState_GetThisThreadState() == nullptr) {
      PyGILState_Ensure();
      PyEval_SaveThread();
    }
    state_ = PyGILState_Ensure();
  }
  ~Gil() { PyGILState_Release(state_); }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  PyGILState_STATE state_;
};

// Lets go of it: around whatever waits, computes for long, or joins threads that may want it.
class NoGil {
 public:
  NoGil() : state_(PyEval_SaveThread()) {}
  ~NoGil() { PyEval_RestoreThread(state_); }
  NoGil(const NoGil&) = delete;
  NoGil& operator=(const NoGil&) = delete;

 private:
  PyThreadState* state_;
};

// Owns a reference, or none. To be ended with the GIL held.
class Object {
 public:
  Object() = default;
  explicit Object(PyObject* owned) : object_(owned) {}
  static Object Borrowed(PyObject* object) {
    Py_XINCREF(object);
    return Object(object);
  }
  Object(Object&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Object& operator=(Object&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Object() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// What a call of the API gave; where that is null, an exception of what was raised (raised.h).
Object Checked(PyObject* owned);

// Python's text, and back. An Error for what is none, or is no UTF-8.
std::string Text(PyObject* text);
Object TextObject(std::string_view text);
inline Object IntegerObject(std::int64_t value) { return Checked(PyLong_FromLongLong(value)); }
std::int64_t Integer(PyObject* value);
inline void SetItem(const Object& dict, std::string_view key, const Object& value) {
  const Object name = TextObject(key);
  if (PyDict_SetItem(dict.get(), name.get(), value.get()) != 0) Checked(nullptr);
}

// Calls fn(key, value), both borrowed, with each item of a dict.
template <typename Fn>
void ForEachItem(PyObject* dict, const Fn& fn) {
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value) != 0;) fn(key, value);
}
// Calls fn(item), borrowed, with each item of a list, a tuple or whatever else can be gone through.
template <typename Fn>
void ForEachOf(PyObject* items, const Fn& fn) {
  const Object list = Checked(PySequence_List(items));
  for (Py_ssize_t i = 0; i < PyList_Size(list.get()); ++i) fn(PyList_GetItem(list.get(), i));
}

// An attribute, and a call with objects, all borrowed.
inline Object Attribute(PyObject* of, const char* name) { return Checked(PyObject_GetAttrString(of, name)); }
template <typename... Objects>
Object Call(PyObject* callable, const Objects&... arguments) {
  return Checked(PyObject_CallFunctionObjArgs(callable, arguments..., nullptr));
}

// A name that lives as long as the process, made once.
PyObject* Interned(const char* name);

}  // namespace medley::python
