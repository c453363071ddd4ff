#include "python/binding/session.h"

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include <medley/base/json_text.h>
#include <medley/checkpoint/run_directory.h>
#include <medley/page/run_page.h>
#include <medley/report/metrics.h>
#include <medley/report/record_sink.h>
#include <medley/session/session.h>

#include "python/binding/lists.h"
#include "python/binding/long_call.h"
#include "python/binding/raised.h"

namespace medley::python {
namespace {

namespace fs = std::filesystem;

// What a run shows, handed to a callable (kind, text). What that raises is told, and lost.
class PythonSink {
 public:
  explicit PythonSink(PyObject* callable) : callable_(Object::Borrowed(callable)) {}
  void operator()(ConsoleLine kind, const std::string& text) const {
    if (callable_.get() == Py_None) return;
    const Gil gil;
    const Object number(PyLong_FromLong(static_cast<long>(kind)));
    const Object words(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
    const Object told(number && words
                          ? PyObject_CallFunctionObjArgs(callable_.get(), number.get(), words.get(), nullptr)
                          : nullptr);
    if (!told) PyErr_WriteUnraisable(callable_.get());
  }

 private:
  Object callable_;
};

// The step that was done last, which few ask for.
class LastStep final : public RecordSink {
 public:
  using RecordSink::Take;
  void Take(const StepRecord& record) override { record_ = record; }
  // Its line of metrics.jsonl, with that of timing.jsonl; "" before the first.
  std::string Line() const {
    if (!record_) return "";
    nlohmann::ordered_json line = MetricsLine(*record_);
    line["timing"] = TimingLine(*record_);
    return JsonText(line);
  }

 private:
  std::optional<StepRecord> record_;
};

struct OpenSession {
  explicit OpenSession(PyObject* sink)
      : sink_(sink), console([this](ConsoleLine kind, const std::string& text) { sink_(kind, text); }) {}

  PythonSink sink_;
  Console console;
  LastStep last;
  std::optional<Session> session;
  std::int64_t step = 0;
  bool busy = false;  // with the GIL
  const pid_t process = ::getpid();
};

struct SessionObject {
  PyObject head;
  OpenSession* open;
};

OpenSession& OpenOf(PyObject* self) {
  OpenSession* open = reinterpret_cast<SessionObject*>(self)->open;
  if (open == nullptr) throw InputError("this session is closed. medley.Session.resume goes on with its run");
  if (open->process != ::getpid())
    throw Error(
        "this session is that of the process which was forked, whose threads are not here. Start processes "
        "with "
        "multiprocessing's spawn");
  if (open->busy) throw Error("this session is in a call of another thread. Wait for that one");
  return *open;
}

// A call of the session that nobody else may make meanwhile.
template <typename Fn>
bool Use(const char* what, OpenSession& open, bool on_main_thread, const Fn& fn) {
  open.busy = true;
  const bool good = LongCall(what, on_main_thread, [&] { fn(*open.session); });
  open.step = open.session->step();
  open.busy = false;
  return good;
}

PyTypeObject* g_type = nullptr;

// Without the GIL, as its data threads may want it to end.
void Close(SessionObject* object) {
  OpenSession* open = std::exchange(object->open, nullptr);
  if (open == nullptr || open->process != ::getpid()) return;  // a forked one would wait for threads for ever
  {
    const NoGil free;
    GilWatch::Look("close");
    open->session.reset();
  }
  delete open;  // the sink's callable, with the GIL
}

void Deallocate(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Close(reinterpret_cast<SessionObject*>(self));
  PyObject_Free(self);
  Py_DECREF(type);
}

// (directory, sink, on_main_thread, make)
template <typename Make>
PyObject* Opened(const char* what, PyObject* sink, bool on_main_thread, const Make& make) {
  auto open = std::make_unique<OpenSession>(sink);
  const bool good = LongCall(what, on_main_thread, [&] {
    open->session.emplace(make(open->console));
    open->session->Tell(open->last);
  });
  if (!good) {
    const NoGil free;
    open->session.reset();
  }
  if (!good) return nullptr;
  open->step = open->session->step();
  Object object = Checked(PyType_GenericAlloc(g_type, 0));
  reinterpret_cast<SessionObject*>(object.get())->open = open.release();
  return object.release();
}

// begin(config, directory, overrides, plugins, profile, sink, on_main_thread)
PyObject* Begin(PyObject*, PyObject* arguments) {
  return Guarded([&]() -> PyObject* {
    const char *config = nullptr, *directory = nullptr, *profile = nullptr;
    PyObject *overrides = nullptr, *plugins = nullptr, *sink = nullptr;
    int main = 0;
    if (!PyArg_ParseTuple(arguments, "ssOOsOp", &config, &directory, &overrides, &plugins, &profile, &sink,
                          &main))
      return nullptr;
    const BeginRequest request{.config = config,
                               .overrides = Texts(overrides),
                               .plugins = {.paths = Paths(plugins)},
                               .profile = profile};
    return Opened("begin", sink, main != 0,
                  [&](Console& console) { return Session::Begin(request, directory, console); });
  });
}

// resume(directory, overrides, plugins, allow_changed, from_step or None, sink, on_main_thread)
PyObject* Resume(PyObject*, PyObject* arguments) {
  return Guarded([&]() -> PyObject* {
    const char* directory = nullptr;
    PyObject *overrides = nullptr, *plugins = nullptr, *changed = nullptr, *from = nullptr, *sink = nullptr;
    int main = 0;
    if (!PyArg_ParseTuple(arguments, "sOOOOOp", &directory, &overrides, &plugins, &changed, &from, &sink,
                          &main))
      return nullptr;
    ResumeRequest request{
        .overrides = Texts(overrides), .plugins = {.paths = Paths(plugins)}, .allow_changed = Paths(changed)};
    if (from != Py_None) request.from = Integer(from);
    return Opened("resume", sink, main != 0,
                  [&](Console& console) { return Session::Resume(directory, request, console); });
  });
}

// train(until or None, saves, on_main_thread) -> (exit code, the last step's line or "")
PyObject* Train(PyObject* self, PyObject* arguments) {
  return Guarded([&]() -> PyObject* {
    PyObject* given = nullptr;
    int saves = 0, main = 0;
    if (!PyArg_ParseTuple(arguments, "Opp", &given, &saves, &main)) return nullptr;
    OpenSession& open = OpenOf(self);
    const std::int64_t until = given == Py_None ? std::numeric_limits<std::int64_t>::max() : Integer(given);
    ExitCode code = ExitCode::kDone;
    const bool good = Use("train", open, main != 0, [&](Session& session) {
      code = session.Train(until, saves != 0 ? AtReturn::kSaved : AtReturn::kUnsaved);
    });
    if (!good) return nullptr;
    return Checked(PyTuple_Pack(2, IntegerObject(static_cast<int>(code)).get(),
                                TextObject(open.last.Line()).get()))
        .release();
  });
}

// edit(text of a weights file, on_main_thread)
PyObject* Edit(PyObject* self, PyObject* arguments) {
  return Guarded([&]() -> PyObject* {
    const char* text = nullptr;
    int main = 0;
    if (!PyArg_ParseTuple(arguments, "sp", &text, &main)) return nullptr;
    OpenSession& open = OpenOf(self);
    if (!Use("edit", open, main != 0, [&](Session& session) { session.Edit(text); })) return nullptr;
    return Object::Borrowed(Py_None).release();
  });
}

// score(rows, on_main_thread) -> JSON by task
PyObject* Score(PyObject* self, PyObject* arguments) {
  return Guarded([&]() -> PyObject* {
    long long rows = 0;
    int main = 0;
    if (!PyArg_ParseTuple(arguments, "Lp", &rows, &main)) return nullptr;
    OpenSession& open = OpenOf(self);
    nlohmann::ordered_json scores = nlohmann::ordered_json::object();
    const bool good = Use("score", open, main != 0, [&](Session& session) {
      for (const auto& [task, score] : session.Score(rows)) scores[task] = ToJson(score);
    });
    return good ? TextObject(JsonText(scores)).release() : nullptr;
  });
}

PyObject* Step(PyObject* self, PyObject*) {
  return Guarded([&] {
    const OpenSession* open = reinterpret_cast<SessionObject*>(self)->open;
    return IntegerObject(open == nullptr ? -1 : open->step).release();
  });
}

PyObject* CloseIt(PyObject* self, PyObject*) {
  return Guarded([&] {
    const OpenSession* const open = reinterpret_cast<SessionObject*>(self)->open;
    if (open != nullptr && open->process == ::getpid()) OpenOf(self);
    Close(reinterpret_cast<SessionObject*>(self));
    return Object::Borrowed(Py_None).release();
  });
}

// run_page(directory) -> HTML
PyObject* Page(PyObject*, PyObject* directory) {
  return Guarded([&]() -> PyObject* {
    const std::string path = Text(directory);
    std::string page;
    if (!Free([&] { page = MakeRunPage({.runs = {path}}).text; })) return nullptr;
    return TextObject(page).release();
  });
}

// free_run_path(config) -> where a run of it lies that nobody gave a place
PyObject* RunPath(PyObject*, PyObject* config) {
  return Guarded([&] { return TextObject(DefaultRunPath(Text(config)).string()).release(); });
}

// watch_gil(address of PyGILState_Check) and gil_watched(): see GilWatch
PyObject* WatchGil(PyObject*, PyObject* address) {
  return Guarded([&] {
    GilWatch::Begin(reinterpret_cast<GilWatch::IsHeld>(Integer(address)));
    return Object::Borrowed(Py_None).release();
  });
}
PyObject* GilWatched(PyObject*, PyObject*) {
  return Guarded([] { return GilWatch::Seen().release(); });
}

PyMethodDef kSessionMethods[] = {
    {"train", Train, METH_VARARGS, nullptr},  {"edit", Edit, METH_VARARGS, nullptr},
    {"score", Score, METH_VARARGS, nullptr},  {"step", Step, METH_NOARGS, nullptr},
    {"close", CloseIt, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyType_Slot kSessionSlots[] = {
    {Py_tp_methods, kSessionMethods}, {Py_tp_dealloc, reinterpret_cast<void*>(Deallocate)}, {0, nullptr}};
PyType_Spec kSessionSpec{"medley._medley.Session", sizeof(SessionObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kSessionSlots};

PyMethodDef kSessionFunctions[] = {{"begin", Begin, METH_VARARGS, nullptr},
                                   {"resume", Resume, METH_VARARGS, nullptr},
                                   {"run_page", Page, METH_O, nullptr},
                                   {"free_run_path", RunPath, METH_O, nullptr},
                                   {"watch_gil", WatchGil, METH_O, nullptr},
                                   {"gil_watched", GilWatched, METH_NOARGS, nullptr},
                                   {nullptr, nullptr, 0, nullptr}};

}  // namespace

void AddSession(PyObject* module) {
  g_type = reinterpret_cast<PyTypeObject*>(Checked(PyType_FromSpec(&kSessionSpec)).release());
  if (PyModule_AddFunctions(module, kSessionFunctions) != 0) Checked(nullptr);
}

}  // namespace medley::python
