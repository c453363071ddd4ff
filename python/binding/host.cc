// The host of Python where the process is Python's: files become classes, classes tasks.
#include <medley/plugin/python_host.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <medley/base/error.h>

#include "python/binding/glue.h"
#include "python/binding/raised.h"
#include "python/binding/task.h"

namespace medley::python {
namespace {

std::vector<std::string> TextsOf(PyObject* given) {
  std::vector<std::string> texts;
  ForEachOf(given, [&](PyObject* text) { texts.push_back(Text(text)); });
  return texts;
}

// The classes of a file, one a spec.
class PythonLibrary final : public PluginLibrary {
 public:
  explicit PythonLibrary(Object classes) : classes_(std::move(classes)) {}

  std::unique_ptr<Task> Make(std::size_t index, const TaskContext& context) const override {
    return std::make_unique<PythonTask>(ClassOf(index), context);
  }
  std::unique_ptr<Model> MakeModel(std::size_t, const ModelContext&) const override {
    throw Error("a plugin in Python has no models; a model is C++'s");
  }
  std::vector<std::string> Texts(std::size_t index, const TextsContext& context) const override {
    const Gil gil;
    const Object options = OptionsObject(context), control = TextsObject(context.control_text);
    return TextsOf(Call(Glue("texts"), ClassOf(index), options.get(), control.get()).get());
  }
  std::vector<std::string> Classes(std::size_t index, const TaskOptions& given) const override {
    const Gil gil;
    const Object options = OptionsObject(given);
    return TextsOf(Call(Glue("classes"), ClassOf(index), options.get()).get());
  }

 private:
  PyObject* ClassOf(std::size_t index) const {
    const Gil gil;
    return PyList_GetItem(classes_.get(), static_cast<Py_ssize_t>(index));
  }

  Object classes_;  // never ended: see PluginLibrary
};

class Host final : public PythonHost {
 public:
  void Prepare(const PluginFile&) override {}
  std::unique_ptr<PluginLibrary> Load(const PluginFile& file, const std::string& source,
                                      const std::map<std::filesystem::path, std::string>& modules) override {
    const Gil gil;
    const Object path = TextObject(file.path.string()), text = TextObject(source),
                 note = TextObject(file.note), beside = Checked(PyDict_New());
    for (const auto& [module, bytes] : modules)
      SetItem(beside, module.string(),
              Checked(PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()))));
    return std::make_unique<PythonLibrary>(
        Call(Glue("load"), path.get(), text.get(), note.get(), beside.get()));
  }
  void SetSampling(const Sampling& sampling) override {
    const Gil gil;
    const Object on = Checked(PyBool_FromLong(sampling.in_processes ? 1 : 0)),
                 file = TextObject(sampling.tokenizer.string()), names = Checked(PyDict_New());
    for (const auto& [token, name] : sampling.special_tokens) SetItem(names, token, TextObject(name));
    Call(Glue("set_sampling"), on.get(), file.get(), names.get());
  }
};

}  // namespace

void InstallHost() {
  static auto& host = *new Host;
  SetPythonHost(&host);
}

}  // namespace medley::python
