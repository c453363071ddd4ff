#include <medley/estimate/gpu.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include <medley/base/bytes.h>
#include <medley/base/durable_file.h>
#include <medley/base/error.h>
#include <medley/base/files.h>
#include <medley/base/json_count.h>
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

std::string Plain(std::string_view name) {
  std::string plain;
  for (const unsigned char c : name) {
    if (std::isalnum(c)) plain += static_cast<char>(std::tolower(c));
  }
  return plain;
}

Gpu Sized(ConfigFile& file, const GpuConfig& config) {
  Gpu gpu{.name = config.name,
          .memory = Size(file, "memory", config.memory),
          .context = Size(file, "context", config.context),
          .workspace = kThreads * Size(file, "workspace", config.workspace)};
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
    throw InputError("the GPU presets: " + problem + " (" + directory.string() + ")");
  std::vector<Gpu> gpus;
  for (const auto& path : ListDirectory(directory)) {
    if (path.extension() == ".json") gpus.push_back(ReadGpu(path));
  }
  std::sort(gpus.begin(), gpus.end(), [](const Gpu& a, const Gpu& b) {
    return std::pair(a.usable(), a.name) < std::pair(b.usable(), b.name);
  });
  return gpus;
}

const Gpu& FindGpu(const std::vector<Gpu>& gpus, std::string_view name) {
  std::vector<std::string> known;
  for (const Gpu& gpu : gpus) {
    if (Plain(gpu.name) == Plain(name)) return gpu;
    known.push_back(gpu.name);
  }
  throw InputError("no such GPU: '" + std::string(name) + "'" + DidYouMean(name, known) +
                   " (known: " + Listed(known) + "; --memory takes any size)");
}

}  // namespace medley
