#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <medley/config/budget_request.h>
#include <medley/config/config_file.h>

namespace medley {

// A kind of GPU, for the question whether a run fits on one that is not there; configs/gpus/*.json. Sizes in
// words, "23.6 GiB".
struct GpuConfig {
  std::string name;
  std::string memory;      // what its driver says that there is
  std::string context;     // of it, what a process pays for using the device at all
  std::string workspace;   // what cuBLAS holds for each thread that multiplies matrices
  std::string capability;  // NVIDIA's number of what it computes, "8.9"; "": not known
};

// Reports every mistake to the file's diagnostics.
void ReadConfig(ConfigFile& file, GpuConfig& config);
nlohmann::ordered_json GpuSchema();

// The same in bytes.
struct Gpu {
  std::string name;
  std::int64_t memory = 0;
  std::int64_t context = 0;
  std::int64_t workspace = 0;  // of all threads together: two, the forward's and autograd's
  std::int64_t margin = 0;     // for what the allocator rounds up and cannot join again: 5 % of the memory
  int capability = 0;          // 89; 0: not known

  std::int64_t usable() const { return memory - context - workspace - margin; }  // by tensors
};

// Throws an InputError with every mistake of the file.
Gpu ReadGpu(const std::filesystem::path& file);
// Those of a directory's *.json, the least usable first. InputError where there is no such directory, or for
// the first file with a mistake.
std::vector<Gpu> ReadGpus(const std::filesystem::path& directory);
// Finds a GPU by its name; case, spaces, '-', '_' and words in front such as "NVIDIA GeForce RTX" do not
// count. InputError with the known names and the nearest. The reference is into `gpus`.
const Gpu& FindGpu(const std::vector<Gpu>& gpus, std::string_view name);
// The same for several names; "all" stands for every one. Each once, in the order of `gpus`. One InputError
// for all unknown ones.
std::vector<Gpu> FindGpus(const std::vector<Gpu>& gpus, const std::vector<std::string>& names);

// Which of them multiply in which type, and which need another libtorch: lines for people; "" where nothing
// is known of any.
std::string TypeWords(const std::vector<Gpu>& gpus);

// The GPU where a run may have so much of its memory beside the context: at most all there is. An Error with
// kDoesNotFit where nothing is left for tensors.
Gpu Within(Gpu gpu, const BudgetRequest& budget);

}  // namespace medley
