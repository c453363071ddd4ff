#include "python/binding/task_context.h"

#include <string>
#include <variant>
#include <vector>

#include <medley/base/error.h>
#include <medley/text/chat_format.h>
#include <medley/text/load_tokenizer.h>

#include "python/binding/raised.h"

namespace medley::python {
namespace {

PyObject* g_context_type = nullptr;

struct ContextObject {
  PyObject head;
  const TaskContext* context;
};
PyObject* g_tokenizer_type = nullptr;
struct TokenizerObject {
  PyObject head;
  const Tokenizer* tokenizer;  // never ended
};

template <typename Fn>
PyObject* InContext(PyObject* self, const Fn& fn) noexcept {
  return Guarded([&] {
    const TaskContext* const context = reinterpret_cast<ContextObject*>(self)->context;
    if (context == nullptr) throw Error("the context of a task that is gone");
    return fn(*context).release();
  });
}

Object IdsObject(const std::vector<std::int64_t>& ids) {
  Object list = Checked(PyList_New(0));
  for (const std::int64_t id : ids) PyList_Append(list.get(), IntegerObject(id).get());
  return list;
}

std::vector<std::int64_t> IdsOf(PyObject* given) {
  std::vector<std::int64_t> ids;
  ForEachOf(given, [&](PyObject* id) { ids.push_back(Integer(id)); });
  return ids;
}

Object ValueObject(const OptionValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return Checked(PyFloat_FromDouble(*number));
  if (const auto* on = std::get_if<bool>(&value)) return Checked(PyBool_FromLong(*on ? 1 : 0));
  return TextObject(std::get<std::string>(value));
}

// Of a task's context, or of a tokenizer alone.
template <typename Fn>
PyObject* InTokenizer(PyObject* self, const Fn& fn) noexcept {
  if (reinterpret_cast<PyObject*>(Py_TYPE(self)) == g_tokenizer_type)
    return Guarded([&] { return fn(*reinterpret_cast<TokenizerObject*>(self)->tokenizer).release(); });
  return InContext(self, [&](const TaskContext& context) { return fn(context.tokenizer()); });
}

PyObject* Encode(PyObject* self, PyObject* text) {
  return InTokenizer(self,
                     [&](const Tokenizer& tokenizer) { return IdsObject(tokenizer.Encode(Text(text))); });
}
PyObject* EncodeText(PyObject* self, PyObject* text) {
  return InTokenizer(self,
                     [&](const Tokenizer& tokenizer) { return IdsObject(tokenizer.EncodeText(Text(text))); });
}
PyObject* Decode(PyObject* self, PyObject* ids) {
  return InTokenizer(self,
                     [&](const Tokenizer& tokenizer) { return TextObject(tokenizer.Decode(IdsOf(ids))); });
}
PyObject* Token(PyObject* self, PyObject* name) {
  return InTokenizer(self,
                     [&](const Tokenizer& tokenizer) { return IntegerObject(tokenizer.Id(Text(name))); });
}
PyObject* HasToken(PyObject* self, PyObject* name) {
  return InTokenizer(self, [&](const Tokenizer& tokenizer) {
    return Checked(PyBool_FromLong(tokenizer.Has(Text(name)) ? 1 : 0));
  });
}
PyObject* Vocabulary(PyObject* self, PyObject*) {
  return InTokenizer(self, [](const Tokenizer& tokenizer) { return IntegerObject(tokenizer.size()); });
}

PyObject* ModelValue(PyObject* self, PyObject* name) {
  return InContext(self, [&](const TaskContext& context) {
    const std::string field = Text(name);
    if (!context.model().Has(field))
      throw Error("the model '" + context.model().kind() + "' has no field '" + field + "'");
    return ValueObject(context.model().At(field));
  });
}
PyObject* ImageSize(PyObject* self, PyObject*) {
  return InContext(self, [](const TaskContext& context) {
    const ImageGeometry& image = context.image();
    return Checked(
        Py_BuildValue("LL", static_cast<long long>(image.size), static_cast<long long>(image.patch)));
  });
}

// (role, text, learned) of each turn.
Conversation ConversationOf(PyObject* given) {
  Conversation conversation;
  ForEachOf(given, [&](PyObject* turn) {
    const Object parts = Checked(PySequence_Tuple(turn));
    const Py_ssize_t size = PyTuple_Size(parts.get());
    if (size != 2 && size != 3) throw Error("a turn is (role, text) or (role, text, learned)");
    conversation.push_back({.role = Text(PyTuple_GetItem(parts.get(), 0)),
                            .text = Text(PyTuple_GetItem(parts.get(), 1)),
                            .learned = size == 3 && PyObject_IsTrue(PyTuple_GetItem(parts.get(), 2)) == 1});
  });
  return conversation;
}

void RequireSound(const ChatFormat& format, const Conversation& conversation) {
  if (const auto problem = format.ProblemOf(conversation))
    throw Error("turn " + std::to_string(problem->turn + 1) + " of a conversation: " + problem->what);
}

// chat_tokens(option, conversation): ids, and the places that are learned.
PyObject* ChatTokensOf(PyObject* self, PyObject* arguments) {
  PyObject *option = nullptr, *given = nullptr;
  if (PyArg_ParseTuple(arguments, "OO", &option, &given) == 0) return nullptr;
  return InContext(self, [&](const TaskContext& context) {
    const ChatFormat format(context.Chat(Text(option)), context.tokenizer());
    const Conversation conversation = ConversationOf(given);
    RequireSound(format, conversation);
    const ChatTokens tokens = format.Encode(conversation);
    return Checked(Py_BuildValue("NN", IdsObject(tokens.ids).release(), IdsObject(tokens.learned).release()));
  });
}

// chat_prompt(option, conversation): ids, and the token that ends an answer.
PyObject* ChatPrompt(PyObject* self, PyObject* arguments) {
  PyObject *option = nullptr, *given = nullptr;
  if (PyArg_ParseTuple(arguments, "OO", &option, &given) == 0) return nullptr;
  return InContext(self, [&](const TaskContext& context) {
    const ChatFormat format(context.Chat(Text(option)), context.tokenizer());
    const Conversation conversation = ConversationOf(given);
    RequireSound(format, conversation);
    return Checked(Py_BuildValue("NL", IdsObject(format.Prompt(conversation)).release(),
                                 static_cast<long long>(format.end())));
  });
}

PyObject* Say(PyObject* self, PyObject* words) {
  return InContext(self, [&](const TaskContext& context) {
    context.Say(Text(words));
    return Object::Borrowed(Py_None);
  });
}

PyObject* Options(PyObject* self, void*) {
  return InContext(self, [](const TaskContext& context) { return OptionsObject(context); });
}
PyObject* Variant(PyObject* self, void*) {
  return InContext(self, [](const TaskContext& context) { return TextObject(context.variant); });
}
PyObject* ControlText(PyObject* self, void*) {
  return InContext(self, [](const TaskContext& context) { return TextsObject(context.control_text()); });
}
PyObject* ClassNames(PyObject* self, void*) {
  return InContext(self, [](const TaskContext& context) { return TextsObject(context.Classes()); });
}
PyObject* NamesAreText(PyObject* self, void*) {
  return InContext(self, [](const TaskContext& context) {
    return Checked(PyBool_FromLong(context.NamesAreText() ? 1 : 0));
  });
}

#define MEDLEY_TOKENIZER_METHODS                                                     \
  {"encode", Encode, METH_O, nullptr}, {"encode_text", EncodeText, METH_O, nullptr}, \
      {"decode", Decode, METH_O, nullptr}, {"token", Token, METH_O, nullptr},        \
      {"has_token", HasToken, METH_O, nullptr}, {                                    \
    "vocabulary", Vocabulary, METH_NOARGS, nullptr                                   \
  }
PyMethodDef kTokenizerMethods[] = {MEDLEY_TOKENIZER_METHODS, {nullptr, nullptr, 0, nullptr}};
PyType_Slot kTokenizerSlots[] = {{Py_tp_methods, kTokenizerMethods}, {0, nullptr}};
PyType_Spec kTokenizerSpec{"medley._medley.Tokenizer", sizeof(TokenizerObject), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kTokenizerSlots};

PyMethodDef kContextMethods[] = {MEDLEY_TOKENIZER_METHODS,
                                 {"model_value", ModelValue, METH_O, nullptr},
                                 {"image_size", ImageSize, METH_NOARGS, nullptr},
                                 {"chat_tokens", ChatTokensOf, METH_VARARGS, nullptr},
                                 {"chat_prompt", ChatPrompt, METH_VARARGS, nullptr},
                                 {"say", Say, METH_O, nullptr},
                                 {nullptr, nullptr, 0, nullptr}};
PyGetSetDef kContextFields[] = {{"options", Options, nullptr, nullptr, nullptr},
                                {"variant", Variant, nullptr, nullptr, nullptr},
                                {"control_text", ControlText, nullptr, nullptr, nullptr},
                                {"classes", ClassNames, nullptr, nullptr, nullptr},
                                {"names_are_text", NamesAreText, nullptr, nullptr, nullptr},
                                {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot kContextSlots[] = {
    {Py_tp_methods, kContextMethods}, {Py_tp_getset, kContextFields}, {0, nullptr}};
PyType_Spec kContextSpec{"medley._medley.TaskContext", sizeof(ContextObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kContextSlots};

}  // namespace

LentTaskContext::LentTaskContext(const TaskContext& context)
    : object_(Checked(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(g_context_type), 0))) {
  reinterpret_cast<ContextObject*>(object_.get())->context = &context;
}
LentTaskContext::~LentTaskContext() { reinterpret_cast<ContextObject*>(object_.get())->context = nullptr; }

Object OptionsObject(const TaskOptions& options) {
  Object dict = Checked(PyDict_New());
  for (const auto& [name, value] : options.options) SetItem(dict, name, ValueObject(value));
  return dict;
}

Object TextsObject(const std::vector<std::string>& texts) {
  Object list = Checked(PyList_New(0));
  for (const std::string& text : texts) PyList_Append(list.get(), TextObject(text).get());
  return list;
}

PyObject* OpenTokenizer(PyObject*, PyObject* arguments) {
  PyObject *file = nullptr, *given = nullptr;
  if (PyArg_ParseTuple(arguments, "OO", &file, &given) == 0) return nullptr;
  return Guarded([&] {
    SpecialTokenNames names;
    ForEachItem(given, [&](PyObject* token, PyObject* name) { names[Text(token)] = Text(name); });
    Object made = Checked(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(g_tokenizer_type), 0));
    reinterpret_cast<TokenizerObject*>(made.get())->tokenizer = LoadTokenizer(Text(file), names).release();
    return made.release();
  });
}

void AddTaskContext(PyObject* module) {
  g_tokenizer_type = Checked(PyType_FromSpec(&kTokenizerSpec)).release();
  g_context_type = Checked(PyType_FromSpec(&kContextSpec)).release();
  PyModule_AddObjectRef(module, "TaskContext", g_context_type);
}

}  // namespace medley::python
