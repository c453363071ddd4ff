#include <medley/model/device.h>

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/ones.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <vector>

#include <medley/base/error.h>
#include <medley/base/torch_runtime.h>

namespace medley {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

std::string ToHex(const at::Tensor& bytes) {
  const auto* data = bytes.const_data_ptr<std::uint8_t>();
  std::string hex;
  hex.reserve(static_cast<std::size_t>(2 * bytes.numel()));
  for (std::int64_t i = 0; i < bytes.numel(); ++i) {
    hex += kDigits[data[i] >> 4];
    hex += kDigits[data[i] & 15];
  }
  return hex;
}

at::Tensor FromHex(const std::string& hex) {
  at::Tensor bytes = at::empty({static_cast<std::int64_t>(hex.size() / 2)}, at::kByte);
  auto* data = bytes.mutable_data_ptr<std::uint8_t>();
  const auto digit = [](char c) { return static_cast<std::uint8_t>(std::strchr(kDigits, c) - kDigits); };
  for (std::size_t i = 0; 2 * i + 1 < hex.size(); ++i) {
    data[i] = static_cast<std::uint8_t>(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
  }
  return bytes;
}

nlohmann::json SaveGenerator(at::Device device) {
  const at::Generator generator = at::globalContext().defaultGenerator(device);
  return ToHex(generator.get_state());
}

void LoadGenerator(const nlohmann::json& state, at::Device device) {
  const auto hex = state.get<std::string>();
  if (hex.size() % 2 != 0 || hex.find_first_not_of(kDigits) != std::string::npos) {
    throw Error("the saved state of a random generator is damaged: hexadecimal digits were expected");
  }
  at::Generator generator = at::globalContext().defaultGenerator(device);
  try {
    generator.set_state(FromHex(hex));
  } catch (const c10::OutOfMemoryError&) {
    throw;  // no fault of the state's
  } catch (const c10::Error& error) {
    throw Error("the saved state of a random generator is damaged: " +
                std::string(error.what_without_backtrace()));
  }
}

}  // namespace

at::Device OpenDevice(const std::string& name, const Numerics& numerics) {
  if (name == "cpu") return at::kCPU;
  if (name != "cuda")
    throw InputError("device \"" + name + "\" is unknown; \"cpu\" or \"cuda\" are expected");
  if (numerics.deterministic) {
    const std::string config = WorkspaceConfig(std::getenv("CUBLAS_WORKSPACE_CONFIG"));
    ::setenv("CUBLAS_WORKSPACE_CONFIG", config.c_str(), /*overwrite=*/1);
  }
  LoadCuda();
  ApplyNumerics(at::kCUDA, numerics);
  return {at::kCUDA, 0};
}

std::string OneOfTheGpus(const char* environment, std::int64_t number) {
  if (environment == nullptr || *environment == '\0') return std::to_string(number);
  std::istringstream list(environment);
  std::vector<std::string> names;
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  if (names.size() == 1) return names.front();
  return number < std::ssize(names) ? names[static_cast<std::size_t>(number)] : "";  // "": it sees none
}

std::string WorkspaceConfig(const char* environment) {
  const std::string given = environment == nullptr ? "" : environment;
  return given == ":16:8" ? given : ":4096:8";  // libtorch takes no other
}

void ApplyNumerics(at::DeviceType type, const Numerics& numerics) {
  if (type != at::kCUDA) return;
  at::Context& context = at::globalContext();
  // Not "warn only": some kernels, as that of attention, are the same at every run only where it is off.
  context.setDeterministicAlgorithms(numerics.deterministic, /*warn_only=*/false);
  context.setDeterministicCuDNN(numerics.deterministic);
  // It would fill every new tensor, for code that reads what nobody wrote.
  if (numerics.deterministic) context.setDeterministicFillUninitializedMemory(false);
  context.setAllowTF32CuBLAS(numerics.matmul_precision == "tf32");
}

void WarmUpProducts(at::Device device) {
  const at::AutoGradMode with_gradients(true);
  const at::Tensor a = at::ones({64, 64}, at::TensorOptions().device(device)).set_requires_grad(true);
  torch::autograd::backward({a.mm(a).sum()}, {});
  Synchronize(device);
}

void Synchronize(at::Device device) {
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

void SeedGenerators(std::uint64_t seed, at::Device device) {
  at::Generator cpu = at::globalContext().defaultGenerator(at::kCPU);
  cpu.set_current_seed(seed);
  if (device.is_cpu()) return;
  at::Generator generator = at::globalContext().defaultGenerator(device);
  generator.set_current_seed(seed);
}

nlohmann::json SaveGenerators(at::Device device) {
  nlohmann::json state = {{"cpu", SaveGenerator(at::kCPU)}};
  if (!device.is_cpu()) state["device"] = SaveGenerator(device);
  return state;
}

GeneratorStates::GeneratorStates(at::Device device) {
  for (const at::Device each : {at::Device(at::kCPU), device}) {
    if (each.is_cpu() && !states_.empty()) continue;
    const at::Tensor state = at::globalContext().defaultGenerator(each).get_state();
    const auto* bytes = state.const_data_ptr<std::uint8_t>();
    states_.emplace_back(each, std::vector<std::uint8_t>(bytes, bytes + state.numel()));
  }
}

void GeneratorStates::PutBack() const {
  for (const auto& [device, bytes] : states_) {
    at::Generator generator = at::globalContext().defaultGenerator(device);
    generator.set_state(at::from_blob(const_cast<std::uint8_t*>(bytes.data()),
                                      {static_cast<std::int64_t>(bytes.size())}, at::kByte));
  }
}

void LoadGenerators(const nlohmann::json& state, at::Device device) {
  LoadGenerator(state.at("cpu"), at::kCPU);
  // A run that moves from the CPU to a GPU starts that GPU's generator anew.
  if (!device.is_cpu() && state.contains("device")) LoadGenerator(state.at("device"), device);
}

}  // namespace medley
