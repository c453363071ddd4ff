#include <medley/estimate/gpu.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <utility>

#include <medley/base/bytes.h>
#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_count.h>
#include <medley/base/printable.h>
#include <medley/base/suggest.h>
#include <medley/config/field_reader.h>
#include <medley/config/field_writer.h>

namespace medley {

template <typename Visitor>
void Fields(Visitor& visit, GpuConfig& c) {
  visit(c.name, {.name = "name", .help = "What medley estimate --gpu calls it", .required = true});
  visit(c.memory,
        {.name = "memory", .help = "Bytes that the driver reports, such as 23.6 GiB", .required = true});
  visit(
      c.context,
      {.name = "context", .help = "Bytes that a process pays for using the device at all", .required = true});
  visit(c.workspace, {.name = "workspace",
                      .help = "Bytes that cuBLAS holds for each thread that uses it",
                      .required = true});
  visit(c.capability, {.name = "capability",
                       .help = "NVIDIA's compute capability, such as 8.9: in which types it multiplies",
                       .omit_default = true});
}

namespace {

constexpr int kThreads = 2;               // the forward's and autograd's
constexpr std::int64_t kMarginPart = 20;  // of the memory

std::int64_t Size(ConfigFile& file, const char* key, const std::string& text) {
  if (text.empty()) return 0;  // reported
  try {
    const std::int64_t bytes = ParseBytes(text);
    if (bytes > kMostBytes) throw InputError("expected at most 1 PiB, found " + text);
    return bytes;
  } catch (const InputError& error) {
    file.FailAt({key}, error.what());
    return 0;
  }
}

// Without what does not tell GPUs apart.
std::string Plain(std::string_view name) {
  std::string plain;
  for (const unsigned char c : name) {
    if (std::isalnum(c)) plain += static_cast<char>(std::tolower(c));
  }
  for (const std::string_view word : {"nvidia", "geforce", "tesla", "quadro", "rtx", "gtx"}) {
    if (plain.starts_with(word)) plain.erase(0, word.size());
  }
  return plain;
}

std::vector<std::string> NamesOf(const std::vector<Gpu>& gpus) {
  std::vector<std::string> names;
  for (const Gpu& gpu : gpus) names.push_back(gpu.name);
  return names;
}

const Gpu* FindNamed(const std::vector<Gpu>& gpus, std::string_view name) {
  const auto found =
      std::ranges::find_if(gpus, [&](const Gpu& gpu) { return Plain(gpu.name) == Plain(name); });
  return found == gpus.end() ? nullptr : &*found;
}

// "no such GPU: 'a100'; did you mean 'A100 40 GB' or 'A100 80 GB'?"
std::string NoSuchGpu(const std::vector<Gpu>& gpus, std::string_view name) {
  const std::string plain = Plain(name);
  std::vector<std::string> longer;
  for (const Gpu& gpu : gpus) {
    if (!plain.empty() && Plain(gpu.name).starts_with(plain))
      longer.push_back("'" + Printable(gpu.name) + "'");
  }
  const std::string near =
      longer.empty() ? DidYouMean(name, NamesOf(gpus)) : "; did you mean " + JoinNames(longer, " or ") + "?";
  return "no such GPU: '" + Printable(name) + "'" + near;
}

[[noreturn]] void RefuseGpus(const std::string& unknown, const std::vector<Gpu>& gpus) {
  throw InputError(unknown + " (known: " + Listed(NamesOf(gpus)) + "; --memory takes any size)");
}

// "8.9" is 89.
int CapabilityOf(ConfigFile& file, const std::string& text) {
  if (text.empty()) return 0;
  const std::size_t dot = text.find('.');
  const auto is_number = [](std::string_view part) {
    return !part.empty() && part.size() <= 2 &&
           std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
  };
  if (dot != std::string::npos && is_number(text.substr(0, dot)) && is_number(text.substr(dot + 1)) &&
      text.size() == dot + 2)
    return 10 * std::stoi(text.substr(0, dot)) + std::stoi(text.substr(dot + 1));
  file.FailAt({"capability"},
              "expected NVIDIA's compute capability, such as 8.9, found '" + Printable(text) + "'");
  return 0;
}

Gpu Sized(ConfigFile& file, const GpuConfig& config) {
  Gpu gpu{.name = config.name,
          .memory = Size(file, "memory", config.memory),
          .context = Size(file, "context", config.context),
          .workspace = kThreads * Size(file, "workspace", config.workspace),
          .capability = CapabilityOf(file, config.capability)};
  gpu.margin = gpu.memory / kMarginPart;
  if (gpu.memory > 0 && gpu.usable() <= 0)
    file.FailAt({"memory"}, "expected more than context and workspace take, found " + config.memory);
  return gpu;
}

}  // namespace

void ReadConfig(ConfigFile& file, GpuConfig& config) {
  ReadFields(file, config);
  Sized(file, config);
}

nlohmann::ordered_json GpuSchema() {
  return SchemaWriter::File<GpuConfig>("medley GPU",
                                       "A kind of GPU, for medley estimate. Sizes are words: \"23.6 GiB\".");
}

Gpu ReadGpu(const std::filesystem::path& path) {
  Diagnostics diagnostics;
  ConfigFile file(path, diagnostics);
  GpuConfig config;
  ReadFields(file, config);
  Gpu gpu = Sized(file, config);
  diagnostics.Throw();
  return gpu;
}

std::vector<Gpu> ReadGpus(const std::filesystem::path& directory) {
  if (const std::string problem = DirectoryProblem(directory); !problem.empty())
    throw InputError("the GPU presets: " + problem + " (" + Printable(directory) + ")");
  std::vector<Gpu> gpus;
  for (const auto& path : ListDirectory(directory)) {
    if (path.extension() == ".json") gpus.push_back(ReadGpu(path));
  }
  std::ranges::sort(gpus, [](const Gpu& a, const Gpu& b) {
    return std::pair(a.usable(), a.name) < std::pair(b.usable(), b.name);
  });
  return gpus;
}

const Gpu& FindGpu(const std::vector<Gpu>& gpus, std::string_view name) {
  const Gpu* gpu = FindNamed(gpus, name);
  if (gpu == nullptr) RefuseGpus(NoSuchGpu(gpus, name), gpus);
  return *gpu;
}

std::vector<Gpu> FindGpus(const std::vector<Gpu>& gpus, const std::vector<std::string>& names) {
  std::set<std::string> wanted;
  std::string unknown;
  for (const std::string& name : names) {
    const Gpu* gpu = FindNamed(gpus, name);
    if (Plain(name) == "all") {
      for (const std::string& each : NamesOf(gpus)) wanted.insert(each);
    } else if (gpu != nullptr) {
      wanted.insert(gpu->name);
    } else {
      unknown += (unknown.empty() ? "" : "\n") + NoSuchGpu(gpus, name);
    }
  }
  if (!unknown.empty()) RefuseGpus(unknown, gpus);
  std::vector<Gpu> found;
  std::copy_if(gpus.begin(), gpus.end(), std::back_inserter(found),
               [&](const Gpu& gpu) { return wanted.count(gpu.name) > 0; });
  return found;
}

std::string TypeWords(const std::vector<Gpu>& gpus) {
  constexpr int kBf16 = 80, kFp16 = 70, kOfThisCuda = 75;
  std::vector<std::string> both, fp16, none, older;
  for (const Gpu& gpu : gpus) {
    if (gpu.capability == 0) continue;
    (gpu.capability >= kBf16 ? both : gpu.capability >= kFp16 ? fp16 : none).push_back(gpu.name);
    if (gpu.capability < kOfThisCuda) older.push_back(gpu.name);
  }
  std::string words;
  const auto add = [&](const std::string& what, const std::vector<std::string>& names) {
    if (!names.empty()) words += what + Listed(names) + "\n";
  };
  add("multiply fp16, not bf16: ", fp16);
  add("multiply neither at speed: ", none);
  if (!both.empty())
    words += both.size() == gpus.size() ? "all multiply bf16 and fp16\n" : "the others multiply both\n";
  add("need a libtorch for CUDA 12.6, without medley's kernels:\n  ", older);
  return words;
}

Gpu Within(Gpu gpu, const BudgetRequest& budget) {
  std::int64_t bytes = gpu.memory;
  if (budget.kind == BudgetRequest::Kind::kBytes) bytes = budget.bytes;
  if (budget.kind == BudgetRequest::Kind::kFraction)
    bytes = static_cast<std::int64_t>(budget.fraction * static_cast<double>(gpu.memory));
  gpu.memory = std::min(gpu.memory - gpu.context, bytes) + gpu.context;
  gpu.margin = gpu.memory / kMarginPart;
  if (gpu.usable() > 0) return gpu;
  throw Error("the budget of " + FormatBytes(bytes) + " is below the " +
                  FormatBytes(gpu.workspace + gpu.margin) + " that cuBLAS and the margin take on " + gpu.name,
              ExitCode::kDoesNotFit);
}

}  // namespace medley
