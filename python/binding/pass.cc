#include "python/binding/pass.h"

#include <c10/core/Device.h>

#include <string>

#include <medley/base/error.h>

#include "python/binding/glue.h"
#include "python/binding/tensors.h"

namespace medley::python {

struct PassState {
  PassContext* context;
  EvalPass* piece;  // null: it is no piece of an evaluation
  Kept kept{};
  std::vector<ModelInput> images{};  // that were handed out, each with its key
};
struct EvalState {
  EvalContext* context;
  Kept kept{};
};

namespace {

PyObject* g_pass_type = nullptr;
PyObject* g_eval_type = nullptr;

template <typename State>
struct LentObject {
  PyObject head;
  State* state;
};

template <typename State>
State& StateOf(PyObject* self, const char* what) {
  State* const state = reinterpret_cast<LentObject<State>*>(self)->state;
  if (state == nullptr) throw Error(std::string("the context of ") + what + " that is over");
  return *state;
}

// Runs fn(state): what it throws is kept beside the words that are raised.
template <typename State, typename Fn>
PyObject* InLent(PyObject* self, const char* what, const Fn& fn) noexcept {
  return Guarded([&]() -> PyObject* {
    State& state = StateOf<State>(self, what);
    try {
      return fn(state);
    } catch (...) {  // here it is still the current exception
      state.kept.Keep();
      throw;
    }
  });
}
template <typename Fn>
PyObject* InPass(PyObject* self, const Fn& fn) noexcept {
  return InLent<PassState>(self, "a pass", fn);
}

PyObject* None() { return Object::Borrowed(Py_None).release(); }

// With the key of the picture that it is, if it was handed out as one.
ModelInput InputOf(const PassState& state, const std::string& name, PyObject* value) {
  at::Tensor tensor = TensorOf(value, "the input '" + name + "' of forward");
  for (const ModelInput& image : state.images) {
    if (image.tensor.is_same(tensor)) return {name, std::move(tensor), image.key};
  }
  return {name, std::move(tensor), ""};
}

// A tensor, or a list of those that have one name.
void AddInputs(const PassState& state, PyObject* key, PyObject* value, ModelInputs& inputs) {
  const std::string name = Text(key);
  if (PyList_Check(value) == 0 && PyTuple_Check(value) == 0)
    return void(inputs.push_back(InputOf(state, name, value)));
  ForEachOf(value, [&](PyObject* one) { inputs.push_back(InputOf(state, name, one)); });
}

// Of a dict, or of pairs.
ModelInputs InputsOf(const PassState& state, PyObject* given) {
  ModelInputs inputs;
  if (PyDict_Check(given) != 0) {
    ForEachItem(given, [&](PyObject* key, PyObject* value) { AddInputs(state, key, value, inputs); });
    return inputs;
  }
  ForEachOf(given, [&](PyObject* pair) {
    const Object parts = Checked(PySequence_Tuple(pair));
    if (PyTuple_Size(parts.get()) != 2)
      throw Error("inputs of forward are a dict, or pairs of a name and a tensor");
    AddInputs(state, PyTuple_GetItem(parts.get(), 0), PyTuple_GetItem(parts.get(), 1), inputs);
  });
  return inputs;
}

struct Wanted {
  explicit Wanted(PyObject* given) {
    if (PyUnicode_Check(given) != 0)
      names.push_back(Text(given));
    else
      ForEachOf(given, [&](PyObject* name) { names.push_back(Text(name)); });
    views.assign(names.begin(), names.end());
  }
  std::vector<std::string> names;
  WantedOutputs views;
};

PyObject* OutputsObject(const ModelOutputs& outputs) {
  Object dict = Checked(PyDict_New());
  for (const auto& [name, tensor] : outputs) SetItem(dict, name, TensorObject(tensor));
  return dict.release();
}

PyObject* Forward(PyObject* self, PyObject* arguments) {
  PyObject *inputs = nullptr, *wanted = nullptr;
  if (PyArg_ParseTuple(arguments, "OO:forward", &inputs, &wanted) == 0) return nullptr;
  return InPass(self, [&](PassState& state) {
    const ModelInputs handed = InputsOf(state, inputs);
    const Wanted outputs(wanted);
    ModelOutputs made;
    {
      const NoGil free;  // data threads may sample meanwhile
      made = state.context->Forward(handed, outputs.views);
    }
    return OutputsObject(made);
  });
}

EvalPass& PieceOf(const PassState& state, const char* method) {
  if (state.piece == nullptr)
    throw Error(std::string(method) + " is for evaluations; this is a pass that trains");
  return *state.piece;
}

PyObject* ForwardOf(PyObject* self, PyObject* arguments) {
  PyObject *name = nullptr, *inputs = nullptr, *wanted = nullptr;
  if (PyArg_ParseTuple(arguments, "OOO:forward_of", &name, &inputs, &wanted) == 0) return nullptr;
  return InPass(self, [&](PassState& state) {
    EvalPass& piece = PieceOf(state, "forward_of");
    const std::string reference = Text(name);
    const ModelInputs handed = InputsOf(state, inputs);
    const Wanted outputs(wanted);
    ModelOutputs made;
    {
      const NoGil free;
      made = piece.ForwardOf(reference, handed, outputs.views);
    }
    return OutputsObject(made);
  });
}

PyObject* GeneratedObject(const Generated& made) {
  const Object rows = Checked(PyList_New(0)), ends = Checked(PyList_New(0));
  for (const auto& tokens : made.tokens) {
    const Object row = Checked(PyList_New(0));
    for (const std::int64_t token : tokens) PyList_Append(row.get(), IntegerObject(token).get());
    PyList_Append(rows.get(), row.get());
  }
  for (const std::int64_t end : made.ends) PyList_Append(ends.get(), IntegerObject(end).get());
  return Call(Glue("generated"), rows.get(), ends.get(), TensorObject(made.image).get()).release();
}

PyObject* Generate(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static const char* kNames[] = {"prompt", "max_new_tokens", "temperature", "top_p",
                                 "seed",   "decode_image",   "ends",        nullptr};
  PyObject *prompt = nullptr, *ends = nullptr;
  long long most = 16;
  unsigned long long seed = 0;
  double temperature = 0, top_p = 1;
  int decode_image = 0;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "O|LddKpO:generate", const_cast<char**>(kNames),
                                  &prompt, &most, &temperature, &top_p, &seed, &decode_image, &ends) == 0)
    return nullptr;
  return InPass(self, [&](PassState& state) {
    EvalPass& piece = PieceOf(state, "generate");
    const ModelInputs handed = InputsOf(state, prompt);
    GenerateOptions options;
    options.max_new_tokens = most;
    options.temperature = temperature;
    options.top_p = top_p;
    options.seed = seed;
    options.decode_image = decode_image != 0;
    if (ends != nullptr) ForEachOf(ends, [&](PyObject* end) { options.ends.push_back(Integer(end)); });
    Generated made;
    {
      const NoGil free;
      made = piece.Generate(handed, options);
    }
    return GeneratedObject(made);
  });
}

PyObject* Column(PyObject* self, PyObject* name) {
  return InPass(self, [&](const PassState& state) {
    return TensorObject(state.context->batch().Column(Text(name))).release();
  });
}

PyObject* Ragged(PyObject* self, PyObject* name) {
  return InPass(self, [&](const PassState& state) {
    const RaggedColumn& column = state.context->batch().Ragged(Text(name));
    const Object offsets = Checked(PyList_New(0));
    for (const std::int64_t offset : column.offsets)
      PyList_Append(offsets.get(), IntegerObject(offset).get());
    return Call(Glue("ragged_column"), TensorObject(column.values).get(), offsets.get(),
                TensorObject(column.item_row).get())
        .release();
  });
}

PyObject* Pixels(PyObject* self, PyObject* name) {
  return InPass(self, [&](const PassState& state) {
    return TensorObject(state.context->Pixels(Text(name))).release();
  });
}

PyObject* Image(PyObject* self, PyObject* name) {
  return InPass(self, [&](PassState& state) {
    state.images.push_back(state.context->Image(Text(name)));
    return TensorObject(state.images.back().tensor).release();
  });
}

PyObject* Constant(PyObject* self, PyObject* name) {
  return InPass(self, [&](const PassState& state) {
    const std::string constant = Text(name);
    at::Tensor table;
    {
      const NoGil free;  // it may be built, by Python
      table = state.context->Constant(constant);
    }
    return TensorObject(table).release();
  });
}

PyObject* Carry(PyObject* self, PyObject* arguments) {
  PyObject *name = nullptr, *value = nullptr;
  if (PyArg_ParseTuple(arguments, "OO:carry", &name, &value) == 0) return nullptr;
  return InPass(self, [&](const PassState& state) {
    const std::string carry = Text(name);
    state.context->Carry(carry, TensorOf(value, "the carry '" + carry + "'"));
    return None();
  });
}

PyObject* Carried(PyObject* self, PyObject* name) {
  return InPass(self, [&](const PassState& state) {
    return TensorObject(state.context->Carried(Text(name))).release();
  });
}

PyObject* Seed(PyObject* self, PyObject* site) {
  return InPass(self, [&](const PassState& state) {
    return PyLong_FromUnsignedLongLong(state.context->Seed(Text(site)));
  });
}

PyObject* Items(PyObject* self, PyObject* term) {
  return InPass(self, [&](const PassState& state) {
    const auto& items = state.context->batch().items();
    const auto found = items.find(Text(term));
    if (found == items.end()) throw Error("no term '" + Text(term) + "' has items here");
    return TensorObject(found->second).release();
  });
}

PyObject* Rows(PyObject* self, void*) {
  return InPass(self,
                [](const PassState& state) { return RowsObject(state.context->batch().rows()).release(); });
}

PyObject* Device(PyObject* self, void*) {
  return InPass(self, [](const PassState& state) {
    const Batch& batch = state.context->batch();
    at::Device device = at::kCPU;
    if (!batch.columns().empty())
      device = batch.columns().begin()->second.device();
    else if (!batch.ragged().empty())
      device = batch.ragged().begin()->second.values.device();
    return Call(Glue("device"), TextObject(device.str()).get()).release();
  });
}

template <typename Fn>
PyCFunction Method(Fn* function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef kPassMethods[] = {
    {"column", Column, METH_O, "A column of the batch: also context[name]."},
    {"ragged", Ragged, METH_O, "A ragged column: values, offsets, item_row."},
    {"pixels", Pixels, METH_O, "A byte column of pictures as floats in [0, 1], to be read only."},
    {"image", Image, METH_O, "A picture for forward to look at: a byte column, or a carry."},
    {"constant", Constant, METH_O, "A table of the spec, [rows, width], on the device."},
    {"carried", Carried, METH_O, "What an earlier pass carried or kept."},
    {"carry", Carry, METH_VARARGS, "carry(name, tensor): hands it to later passes, rows first."},
    {"forward", Forward, METH_VARARGS,
     "forward(inputs, wanted): one forward of the model; a dict of its outputs. Inputs are a dict, of which "
     "a list "
     "stands for several of one name, or pairs."},
    {"forward_of", ForwardOf, METH_VARARGS,
     "forward_of(reference, inputs, wanted): in an evaluation, of further weights."},
    {"generate", Method(&Generate), METH_VARARGS | METH_KEYWORDS,
     "generate(prompt, max_new_tokens=16, temperature=0, top_p=1, seed=0, decode_image=False, ends=()): in "
     "an "
     "evaluation; tokens, ends and image."},
    {"seed", Seed, METH_O,
     "A seed for random numbers of a site of this pass: the same in a second run of it."},
    {"items", Items, METH_O, "Items of a term, [rows] int64 on the host."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef kPassFields[] = {{"rows", Rows, nullptr, "The rows of this micro-batch: medley.Rows.", nullptr},
                             {"device", Device, nullptr, "Where its tensors are: a torch.device.", nullptr},
                             {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot kPassSlots[] = {
    {Py_tp_methods, kPassMethods},
    {Py_tp_getset, kPassFields},
    {Py_mp_subscript, reinterpret_cast<void*>(&Column)},
    {Py_tp_doc, const_cast<char*>("What a task may use while one of its passes runs. Lent for one call.")},
    {0, nullptr}};
PyType_Spec kPassSpec{"medley.Context", sizeof(LentObject<PassState>), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kPassSlots};

// each(rows, fn): see EvalContext::ForEachPiece.
PyObject* Each(PyObject* self, PyObject* arguments) {
  PyObject *rows = nullptr, *function = nullptr;
  if (PyArg_ParseTuple(arguments, "OO:each", &rows, &function) == 0) return nullptr;
  return InLent<EvalState>(self, "an evaluation", [&](const EvalState& state) {
    const RowRange range = RangeOf(rows);
    const NoGil free;
    state.context->ForEachPiece(range, [&](EvalPass& piece) {
      const Gil gil;
      const LentPass lent(piece);
      if (!Object(PyObject_CallFunctionObjArgs(function, lent.get(), nullptr))) ThrowRaised(&lent.kept());
    });
    return static_cast<PyObject*>(nullptr);
  });
}

// As above with what a call returns.
PyObject* EachPiece(PyObject* self, PyObject* arguments) {
  PyObject* const none = Each(self, arguments);
  return none == nullptr && PyErr_Occurred() == nullptr ? None() : none;
}

PyMethodDef kEvalMethods[] = {
    {"each", EachPiece, METH_VARARGS,
     "each(rows, fn): samples the rows in pieces that fit and calls fn(context) with each, in order."},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot kEvalSlots[] = {
    {Py_tp_methods, kEvalMethods},
    {Py_tp_doc, const_cast<char*>("What a task may use to score itself. Lent for one call.")},
    {0, nullptr}};
PyType_Spec kEvalSpec{"medley.EvalContext", sizeof(LentObject<EvalState>), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kEvalSlots};

template <typename State>
Object Lend(PyObject* type, State* state) {
  Object object = Checked(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(type), 0));
  reinterpret_cast<LentObject<State>*>(object.get())->state = state;
  return object;
}

}  // namespace

LentPass::LentPass(PassContext& context, EvalPass* piece)
    : state_(new PassState{&context, piece}), object_(Lend(g_pass_type, state_.get())) {}
LentPass::LentPass(PassContext& context) : LentPass(context, nullptr) {}
LentPass::LentPass(EvalPass& piece) : LentPass(piece, &piece) {}
LentPass::~LentPass() { reinterpret_cast<LentObject<PassState>*>(object_.get())->state = nullptr; }
const Kept& LentPass::kept() const { return state_->kept; }

LentEval::LentEval(EvalContext& context)
    : state_(new EvalState{&context}), object_(Lend(g_eval_type, state_.get())) {}
LentEval::~LentEval() { reinterpret_cast<LentObject<EvalState>*>(object_.get())->state = nullptr; }
const Kept& LentEval::kept() const { return state_->kept; }

void AddPasses(PyObject* module) {
  g_pass_type = Checked(PyType_FromSpec(&kPassSpec)).release();
  g_eval_type = Checked(PyType_FromSpec(&kEvalSpec)).release();
  PyModule_AddObjectRef(module, "Context", g_pass_type);
  PyModule_AddObjectRef(module, "EvalContext", g_eval_type);
}

}  // namespace medley::python
