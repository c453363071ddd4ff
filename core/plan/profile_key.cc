#include <medley/plan/profile_key.h>

#include <ATen/Parallel.h>
#include <c10/core/ScalarType.h>
#include <dlfcn.h>

#include <medley/base/cpu.h>
#include <medley/base/file_digest.h>
#include <medley/base/version.h>
#include <medley/config/field_writer.h>
#include <medley/memory/product_workspace.h>
#include <medley/model/blocks/fused.h>
#include <medley/model/gpu_kernels.h>
#include <medley/plugin/elf_file.h>

namespace medley {
namespace {

using nlohmann::ordered_json;

// "agent-tiny.json (0f3c...)"; "" where the run was made without files.
std::string NamedSum(const std::filesystem::path& file) {
  if (file.empty()) return "";
  return file.filename().string() + " (" + HashFile(file).substr(0, 12) + ")";
}

// Kernels for other CPUs take other workspaces; so do those for other GPUs.
std::string DeviceWords(at::Device device) {
  if (device.is_cpu()) {
    const Cpu cpu = ThisCpu();
    return Describe({"cpu", cpu.instructions, cpu.limits});
  }
  return device.str() + " of " + KindOfGpu(device);
}

// Which build of libmedley this is; a revision says too little where the sources were edited.
std::string LibraryBuild() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&RunProfileKey), &info) != 0 && info.dli_fname != nullptr) {
    const std::string id = ReadBuildId(std::filesystem::canonical(info.dli_fname));
    if (!id.empty()) return id.substr(0, 12);
  }
  return std::string(GitRevision());
}

// Shapes and which of them are trained.
std::string ParametersSum(const Model& model) {
  std::string text;
  for (const Parameter& parameter : model.parameters())
    text += parameter.name + c10::str(parameter.tensor.sizes()) +
            (parameter.tensor.requires_grad() ? "t" : "f") + c10::toString(parameter.tensor.scalar_type());
  return HashText(text).substr(0, 12);
}

}  // namespace

ordered_json RunProfileKey(const RunConfig& config, const Model& model, const std::string& build,
                           const Tokenizer* tokenizer, at::Device device) {
  ordered_json key = {{"model", NamedSum(config.model)},
                      {"parameters", ParametersSum(model)},
                      {"tokenizer", tokenizer != nullptr ? tokenizer->hash() : NamedSum(config.tokenizer)},
                      {"control_text", NamedSum(config.control_text)},
                      {"dtype", c10::toString(FloatTypeOf(model))},
                      {"medley", std::string(Version()) + " " + LibraryBuild()},
                      {"libtorch", std::string(Torch().build)},
                      {"device", DeviceWords(device)},
                      {"threads", at::get_num_threads()}};
  if (!build.empty()) key["model_build"] = build;
  if (config.lora.dropout > 0) key["lora"] = "dropout";  // which keeps masks
  const ProductWorkspace products = device.is_cpu() ? WorkspaceOf(model.parameters()) : ProductWorkspace();
  if (products.forward + products.result_bytes > 0)
    key["products"] = ordered_json{{"forward", products.forward},
                                   {"backward", products.backward},
                                   {"result_bytes", products.result_bytes}};
  // Other kernels take other workspaces.
  if (!device.is_cpu())
    key["numerics"] = config.matmul_precision + (config.deterministic ? ", deterministic" : "");
  if (device.is_cuda()) key["kernels"] = KernelsInUse().used;
  return key;
}

ordered_json TaskProfileKey(const TaskHost& host, const Form& form) {
  const TaskConfig& settings = form.settings;
  ordered_json key = {{"variant", settings.variant},
                      {"options", FieldDumper::Dump(settings.options)},
                      {"terms", settings.terms}};
  if (!settings.kind.empty()) key["kind"] = settings.kind;
  if (const auto origin = host.OriginOf(form.task)) {
    key["version"] = origin->version;
    key["plugin"] = origin->build_id;
  }
  return key;
}

}  // namespace medley
