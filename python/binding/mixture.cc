#include "python/binding/mixture.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <medley/base/json_text.h>
#include <medley/session/draws.h>
#include <medley/step/callers_model.h>

#include "python/binding/lists.h"
#include "python/binding/long_call.h"
#include "python/binding/raised.h"
#include "python/binding/tensors.h"

namespace medley::python {
namespace {

struct SharedDraws {
  std::optional<Draws> draws;
  std::thread::id thread = std::this_thread::get_id();
  bool in_use = false;
};

// While a call of the mixture or of one of its draws is under way. An Error on another thread than the one
// that made it, as torch's generator and type, which the call has for itself, are the process's; and within
// another call, as a model may make one.
class InUse {
 public:
  explicit InUse(SharedDraws& shared) : shared_(shared) {
    if (shared.thread != std::this_thread::get_id())
      throw Error(
          "a mixture and its draws are used on the thread that made it, as torch's generator and type are "
          "the "
          "process's");
    if (shared.in_use)
      throw Error("a model may not ask the mixture or a draw while draw.sums runs it; ask before");
    shared.in_use = true;
  }
  ~InUse() { shared_.in_use = false; }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  SharedDraws& shared_;
};

struct MixtureObject {
  PyObject head;
  std::shared_ptr<SharedDraws>* draws;
};
struct DrawParts {
  std::shared_ptr<SharedDraws> mixture;  // which owns the task
  LoadedTask* task;
  Batch rows;
  at::Device device = at::kCPU;
};
struct DrawObject {
  PyObject head;
  DrawParts* parts;
};
PyTypeObject *g_mixture_type = nullptr, *g_draw_type = nullptr;

std::shared_ptr<SharedDraws> DrawsOf(PyObject* self) {
  return *reinterpret_cast<MixtureObject*>(self)->draws;
}
DrawParts& PartsOf(PyObject* draw) {
  if (PyObject_TypeCheck(draw, g_draw_type) == 0) throw Error("expected a draw of a mixture");
  return *reinterpret_cast<DrawObject*>(draw)->parts;
}

// Without the GIL: tasks of Python's take it where they end.
template <typename Owned>
void EndWithoutGil(Owned* owned) {
  const NoGil free;
  delete owned;
}
void FreeObject(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}
void DeallocateMixture(PyObject* self) {
  EndWithoutGil(std::exchange(reinterpret_cast<MixtureObject*>(self)->draws, nullptr));
  FreeObject(self);
}
void DeallocateDraw(PyObject* self) {
  EndWithoutGil(std::exchange(reinterpret_cast<DrawObject*>(self)->parts, nullptr));
  FreeObject(self);
}

// Calls fn(draws) alone, without the GIL.
template <typename Fn>
bool Ask(const char* what, PyObject* self, const Fn& fn) {
  const std::shared_ptr<SharedDraws> shared = DrawsOf(self);
  return Free([&] {
    GilWatch::Look(what);
    const InUse alone(*shared);
    fn(*shared->draws);
  });
}

// open_mixture(config, overrides, plugins, plan, stage, rank, world)
PyObject* Open(PyObject*, PyObject* arguments) {
  return Guarded([&]() -> PyObject* {
    const char *config = nullptr, *plan = nullptr, *stage = nullptr;
    PyObject *overrides = nullptr, *plugins = nullptr;
    long long rank = 0, world = 1;
    if (!PyArg_ParseTuple(arguments, "sOOssLL", &config, &overrides, &plugins, &plan, &stage, &rank, &world))
      return nullptr;
    const DrawsRequest request{.config = config,
                               .overrides = Texts(overrides),
                               .plugins = {.paths = Paths(plugins)},
                               .plan = plan,
                               .stage = stage,
                               .rank = rank,
                               .world = world};
    auto shared = std::make_shared<SharedDraws>();
    const bool good = Free([&] {
      GilWatch::Look("open_mixture");
      shared->draws.emplace(request);
    });
    if (!good) return nullptr;
    Object object = Checked(PyType_GenericAlloc(g_mixture_type, 0));
    reinterpret_cast<MixtureObject*>(object.get())->draws =
        new std::shared_ptr<SharedDraws>(std::move(shared));
    return object.release();
  });
}

Object TensorsObject(const std::map<std::string, at::Tensor, std::less<>>& tensors) {
  Object dict = Checked(PyDict_New());
  for (const auto& [name, tensor] : tensors) SetItem(dict, name, TensorObject(tensor));
  return dict;
}

// Columns, and of ragged ones (values, items of each row).
Object ColumnsObject(const Batch& rows) {
  Object dict = TensorsObject(rows.columns());
  for (const auto& [name, column] : rows.ragged()) {
    const Object counts = Checked(PyList_New(0));
    for (std::size_t i = 1; i < column.offsets.size(); ++i)
      PyList_Append(counts.get(), IntegerObject(column.offsets[i] - column.offsets[i - 1]).get());
    SetItem(dict, name, Checked(PyTuple_Pack(2, TensorObject(column.values).get(), counts.get())));
  }
  return dict;
}

Object DrawHandle(DrawParts parts) {
  Object object = Checked(PyType_GenericAlloc(g_draw_type, 0));
  reinterpret_cast<DrawObject*>(object.get())->parts = new DrawParts(std::move(parts));
  return object;
}

// next() -> (handle, task, begin, rows, begin of the part, columns, items, weights of terms)
PyObject* Next(PyObject* self, PyObject*) {
  return Guarded([&]() -> PyObject* {
    std::optional<DrawnRows> drawn;
    if (!Ask("next", self, [&](Draws& draws) { drawn = draws.Next(); })) return nullptr;
    const Object weights = Checked(PyDict_New());
    for (const auto& [term, weight] : drawn->term_weights)
      SetItem(weights, term, Checked(PyFloat_FromDouble(weight)));
    const Batch& rows = drawn->rows;
    const Object columns = ColumnsObject(rows), items = TensorsObject(rows.items());
    const Object task = TextObject(drawn->draw.task), begin = IntegerObject(drawn->draw.begin),
                 count = IntegerObject(drawn->draw.rows), own = IntegerObject(rows.rows().begin);
    const Object handle =
        DrawHandle({.mixture = DrawsOf(self), .task = drawn->task, .rows = rows, .device = at::kCPU});
    return PyTuple_Pack(8, handle.get(), task.get(), begin.get(), count.get(), own.get(), columns.get(),
                        items.get(), weights.get());
  });
}

PyObject* SetWeights(PyObject* self, PyObject* text) {
  return Guarded([&]() -> PyObject* {
    const std::string weights = Text(text);
    if (!Ask("set_weights", self, [&](Draws& draws) { draws.SetWeights(weights); })) return nullptr;
    return Object::Borrowed(Py_None).release();
  });
}

template <typename Fn>
PyObject* TextOf(PyObject* self, const Fn& fn) {
  return Guarded([&]() -> PyObject* {
    std::string text;
    if (!Ask("look", self, [&](Draws& draws) { text = fn(draws); })) return nullptr;
    return TextObject(text).release();
  });
}
PyObject* Weights(PyObject* self, PyObject*) {
  return TextOf(self, [](const Draws& draws) { return draws.weights(); });
}
PyObject* Save(PyObject* self, PyObject*) {
  return TextOf(self, [](const Draws& draws) { return draws.Save().dump(); });
}
PyObject* Shares(PyObject* self, PyObject*) {
  return TextOf(self, [](const Draws& draws) {
    nlohmann::ordered_json shares = nlohmann::ordered_json::object();
    for (const auto& [task, share] : draws.Shares()) {
      shares[task] = {{"asked", share.asked},
                      {"delivered", share.delivered},
                      {"rows", share.rows},
                      {"draws", share.draws}};
    }
    return JsonText(shares);
  });
}

PyObject* MixtureVocabulary(PyObject* self, PyObject*) {
  return Guarded([&]() -> PyObject* {
    std::int64_t tokens = 0;
    if (!Ask("look", self, [&](const Draws& draws) { tokens = draws.vocabulary(); })) return nullptr;
    return IntegerObject(tokens).release();
  });
}

// load(state as JSON) -> words
PyObject* Load(PyObject* self, PyObject* text) {
  return Guarded([&]() -> PyObject* {
    const nlohmann::json state = nlohmann::json::parse(Text(text));
    std::vector<std::string> words;
    if (!Ask("load", self, [&](Draws& draws) { words = draws.Load(state); })) return nullptr;
    Object list = Checked(PyList_New(0));
    for (const std::string& line : words) PyList_Append(list.get(), TextObject(line).get());
    return list.release();
  });
}

// What a callable raised, on its way through C++.
class RaisedByModel final : public std::runtime_error {
 public:
  RaisedByModel() : std::runtime_error("the model raised an exception") {}
};

// A model that is a callable: (pass, reference, [(name, tensor)], [wanted]) -> {name: tensor}.
class CallableModel {
 public:
  explicit CallableModel(PyObject* callable) : callable_(callable) {}
  CallableModel(const CallableModel&) = delete;
  CallableModel& operator=(const CallableModel&) = delete;
  ~CallableModel() { const Object type(type_), value(value_), trace(trace_); }

  ModelOutputs operator()(const CallersForward& asked) {
    const Gil gil;
    try {
      return Ask(asked);
    } catch (const RaisedByModel&) {
      PyErr_Fetch(&type_, &value_, &trace_);  // with its frames: they are the caller's own
      throw;
    }
  }
  // Raises what it raised itself, in place of the words about that; else what is raised stays. With the GIL.
  void RaisesAgain() {
    if (type_ == nullptr) return;
    PyErr_Restore(std::exchange(type_, nullptr), std::exchange(value_, nullptr),
                  std::exchange(trace_, nullptr));
  }

 private:
  ModelOutputs Ask(const CallersForward& asked) const {
    const Object inputs = Checked(PyList_New(0)), wanted = Checked(PyList_New(0));
    for (const ModelInput& input : asked.inputs) {
      const Object name = TextObject(input.name), tensor = TensorObject(input.tensor);
      PyList_Append(inputs.get(), Checked(PyTuple_Pack(2, name.get(), tensor.get())).get());
    }
    for (const std::string_view name : asked.wanted) PyList_Append(wanted.get(), TextObject(name).get());
    const Object pass = TextObject(asked.pass), reference = TextObject(asked.reference);
    const Object made(PyObject_CallFunctionObjArgs(callable_, pass.get(), reference.get(), inputs.get(),
                                                   wanted.get(), nullptr));
    if (!made) throw RaisedByModel();
    if (PyDict_Check(made.get()) == 0) throw Error("the model must return a dict of tensors by name");
    ModelOutputs outputs;
    ForEachItem(made.get(), [&](PyObject* key, PyObject* value) {
      const std::string name = Text(key);
      outputs[name] = TensorOf(value, "the model's output '" + name + "'");
    });
    return outputs;
  }

  PyObject* callable_;  // the caller holds it
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

CallersPasses PassesOf(const DrawParts& parts, bool in_double) {
  return {.task = *parts.task,
          .declared = parts.mixture->draws->model(),
          .device = parts.device,
          .dtype = in_double ? at::kDouble : at::kFloat};
}

// sums(handle, callable, in float64) -> {term: (sum, items)}
PyObject* DrawSums(PyObject*, PyObject* arguments) {
  return Guarded([&]() -> PyObject* {
    PyObject *handle = nullptr, *callable = nullptr;
    int in_double = 0;
    if (!PyArg_ParseTuple(arguments, "OOp", &handle, &callable, &in_double)) return nullptr;
    const DrawParts& parts = PartsOf(handle);
    CallableModel model(callable);
    std::map<std::string, TermSum> sums;
    const bool good = Free([&] {
      const InUse alone(*parts.mixture);
      sums = SumsOf(PassesOf(parts, in_double != 0), parts.rows,
                    [&](const CallersForward& asked) { return model(asked); });
    });
    if (!good) {
      model.RaisesAgain();
      return nullptr;
    }
    Object result = Checked(PyDict_New());
    for (const auto& [term, sum] : sums) {
      const Object tensor = TensorObject(sum.sum), items = IntegerObject(sum.items);
      SetItem(result, term, Checked(PyTuple_Pack(2, tensor.get(), items.get())));
    }
    return result.release();
  });
}

// inputs(handle, pass, in float64) -> ([(name, tensor)], [wanted])
PyObject* Inputs(PyObject*, PyObject* arguments) {
  return Guarded([&]() -> PyObject* {
    PyObject* handle = nullptr;
    const char* pass = nullptr;
    int in_double = 0;
    if (!PyArg_ParseTuple(arguments, "Osp", &handle, &pass, &in_double)) return nullptr;
    const DrawParts& parts = PartsOf(handle);
    std::optional<PassInputs> seen;
    const bool good = Free([&] {
      const InUse alone(*parts.mixture);
      seen = InputsOf(PassesOf(parts, in_double != 0), parts.rows, pass);
    });
    if (!good) return nullptr;
    const Object inputs = Checked(PyList_New(0)), wanted = Checked(PyList_New(0));
    for (const ModelInput& input : seen->inputs) {
      const Object name = TextObject(input.name), tensor = TensorObject(input.tensor);
      PyList_Append(inputs.get(), Checked(PyTuple_Pack(2, name.get(), tensor.get())).get());
    }
    for (const std::string& name : seen->wanted) PyList_Append(wanted.get(), TextObject(name).get());
    return PyTuple_Pack(2, inputs.get(), wanted.get());
  });
}

// to(handle, device) -> (handle, columns)
PyObject* To(PyObject*, PyObject* arguments) {
  return Guarded([&]() -> PyObject* {
    PyObject* handle = nullptr;
    const char* device = nullptr;
    if (!PyArg_ParseTuple(arguments, "Os", &handle, &device)) return nullptr;
    const DrawParts& parts = PartsOf(handle);
    std::optional<Batch> rows;
    const at::Device to(device);
    if (!Free([&] { rows = parts.rows.To(to); })) return nullptr;
    const Object columns = ColumnsObject(*rows);
    const Object moved =
        DrawHandle({.mixture = parts.mixture, .task = parts.task, .rows = *std::move(rows), .device = to});
    return PyTuple_Pack(2, moved.get(), columns.get());
  });
}

// passes(handle) -> [pass], lists(handle) -> [input that may come several times]
PyObject* Passes(PyObject*, PyObject* handle) {
  return Guarded([&] {
    Object list = Checked(PyList_New(0));
    for (const PassInfo& pass : PartsOf(handle).task->variant().passes)
      PyList_Append(list.get(), TextObject(pass.name).get());
    return list.release();
  });
}
PyObject* Lists(PyObject*, PyObject* handle) {
  return Guarded([&] {
    Object list = Checked(PyList_New(0));
    for (const TensorInfo& input : PartsOf(handle).mixture->draws->model().inputs) {
      if (!input.times.empty()) PyList_Append(list.get(), TextObject(input.name).get());
    }
    return list.release();
  });
}

PyMethodDef kMixtureMethods[] = {{"next", Next, METH_NOARGS, nullptr},
                                 {"set_weights", SetWeights, METH_O, nullptr},
                                 {"weights", Weights, METH_NOARGS, nullptr},
                                 {"save", Save, METH_NOARGS, nullptr},
                                 {"load", Load, METH_O, nullptr},
                                 {"vocabulary", MixtureVocabulary, METH_NOARGS, nullptr},
                                 {"shares", Shares, METH_NOARGS, nullptr},
                                 {nullptr, nullptr, 0, nullptr}};
PyType_Slot kMixtureSlots[] = {{Py_tp_methods, kMixtureMethods},
                               {Py_tp_dealloc, reinterpret_cast<void*>(DeallocateMixture)},
                               {0, nullptr}};
PyType_Spec kMixtureSpec{"medley._medley.Mixture", sizeof(MixtureObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kMixtureSlots};
PyType_Slot kDrawSlots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(DeallocateDraw)}, {0, nullptr}};
PyType_Spec kDrawSpec{"medley._medley.Draw", sizeof(DrawObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kDrawSlots};

PyMethodDef kMixtureFunctions[] = {{"open_mixture", Open, METH_VARARGS, nullptr},
                                   {"draw_sums", DrawSums, METH_VARARGS, nullptr},
                                   {"draw_inputs", Inputs, METH_VARARGS, nullptr},
                                   {"draw_to", To, METH_VARARGS, nullptr},
                                   {"draw_passes", Passes, METH_O, nullptr},
                                   {"draw_lists", Lists, METH_O, nullptr},
                                   {nullptr, nullptr, 0, nullptr}};

}  // namespace

void AddMixture(PyObject* module) {
  g_mixture_type = reinterpret_cast<PyTypeObject*>(Checked(PyType_FromSpec(&kMixtureSpec)).release());
  g_draw_type = reinterpret_cast<PyTypeObject*>(Checked(PyType_FromSpec(&kDrawSpec)).release());
  if (PyModule_AddFunctions(module, kMixtureFunctions) != 0) Checked(nullptr);
}

}  // namespace medley::python
