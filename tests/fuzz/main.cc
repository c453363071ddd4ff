// medley_fuzz READER [--runs N] [--first I] [--seed S] [--seconds T] [--each-byte OF] [--failures DIR]
// medley_fuzz READER --replay FILE
// medley_fuzz --list
//
// Mutates the reader's corpus. An input fails that ends the process, throws anything but medley::Error,
// hangs, or takes more time or memory than the limits, and of people's data one that is refused without the
// file's name; it is written to a file, and the same seed and number make it again. A corpus of which the
// reader takes nothing tests nothing, and fails too.
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <typeinfo>

#include <medley/base/error.h>

#include "tests/fuzz/counted_memory.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/readers.h"

namespace medley::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestInput = std::size_t{4} << 20;
// Of one input, whose bytes are at most 1 MiB.
constexpr double kMostSeconds = 5;  // under the sanitizers; of the processor, not of the wall
constexpr int kMostHangSeconds = 120;

struct Arguments {
  std::string reader;
  std::uint64_t runs = 10'000, first = 0, seed = 1;
  double seconds = 0;
  std::uint64_t each_byte = 0;  // 0: no sweep over the bytes of the corpus; else one of its inputs of so many
  fs::path failures = ".", replay;
};

// What the child does, as its parent sees it when it dies.
struct Shared {
  std::atomic<std::uint64_t> done, number, refused;
  std::atomic<double> slowest;        // seconds
  std::atomic<std::int64_t> largest;  // bytes
  std::atomic<bool> finding;
  std::atomic<std::size_t> size;
  std::array<char, 1024> words;
  std::array<char, kLongestInput> input;
};

double ProcessorSeconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double WallSeconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

[[noreturn]] void Find(Shared& shared, const std::string& words) {
  shared.finding = true;
  std::snprintf(shared.words.data(), shared.words.size(), "%s", words.c_str());
  std::_Exit(1);
}

// Returns why the reader refuses the input; "" where it takes it.
std::string RunOne(const Reader& reader, const std::string& input, Shared& shared) {
  std::string refusal;
  shared.size = std::min(input.size(), kLongestInput);
  std::copy_n(input.data(), shared.size.load(), shared.input.data());
  const std::int64_t live = LiveBytes();
  ResetMostBytes();
  const double start = ProcessorSeconds();
  try {
    reader.read(input);
  } catch (const Error& error) {
    ++shared.refused;
    refusal = error.what();
    const bool names_it =
        dynamic_cast<const InputError*>(&error) && refusal.find(reader.file) != refusal.npos;
    if (!reader.file.empty() && !names_it)
      Find(shared, "refuses " + reader.file + " without its name, or not as bad input: " + refusal);
  } catch (const std::exception& error) {
    Find(shared, std::string("threw ") + typeid(error).name() + ": " + error.what());
  } catch (...) {
    Find(shared, "threw something that is no exception");
  }
  const double seconds = ProcessorSeconds() - start;
  const std::int64_t bytes = MostBytes() - live;
  shared.slowest = std::max(shared.slowest.load(), seconds);
  shared.largest = std::max(shared.largest.load(), bytes);
  if (seconds > kMostSeconds) Find(shared, "took " + std::to_string(seconds) + " s");
  if (bytes > reader.most_memory) Find(shared, "took " + std::to_string(bytes) + " bytes");
  return refusal;
}

// The readers' files lie in memory, in a directory that goes with the run.
class WorkingDirectory {
 public:
  WorkingDirectory() {
    std::string name = (::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : fs::temp_directory_path().string()) +
                       "/medley-fuzz-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw Error("cannot make " + name);
    path_ = name;
    fs::current_path(path_);
  }
  ~WorkingDirectory() {
    std::error_code ignored;
    fs::current_path("/", ignored);
    fs::remove_all(path_, ignored);
  }
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;

 private:
  fs::path path_;
};

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> Corpus(const Reader& reader) {
  std::vector<fs::path> paths;
  const fs::path folder =
      fs::path(MEDLEY_FUZZ_CORPUS) / (reader.corpus.empty() ? reader.name : reader.corpus);
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const fs::path& path : paths) corpus.push_back(ReadAll(path));
  return corpus;
}

// Of each file of the corpus every byte as three others, and the cuts at every 64th byte: the slice of the
// seed.
void RunEachByte(const Reader& reader, const std::vector<std::string>& corpus, const Arguments& arguments,
                 Shared& shared) {
  std::uint64_t number = arguments.seed;
  const auto run = [&](const std::string& file, const auto& change) {
    if (number++ % arguments.each_byte != 0) return;
    std::string input = file;
    change(input);
    RunOne(reader, input, shared);
    ++shared.done;
  };
  for (const std::string& file : corpus) {
    for (std::size_t cut = 0; cut < file.size(); cut += 64)
      run(file, [&](std::string& input) { input.resize(cut); });
    for (std::size_t at = 0; at < file.size(); ++at) {
      for (const int other : {0x01, 0x80, 0xff})
        run(file, [&](std::string& input) { input[at] = static_cast<char>(input[at] ^ other); });
    }
  }
}

void RunAll(const Reader& reader, const std::vector<std::string>& corpus, const Arguments& arguments,
            Shared& shared) {
  for (const std::string& input : corpus) RunOne(reader, input, shared);
  if (shared.refused == corpus.size()) Find(shared, "is the last of a corpus that is refused as a whole");
  shared.refused = 0;
  if (arguments.each_byte > 0) RunEachByte(reader, corpus, arguments, shared);
  const Mutator mutator(corpus, reader.json);
  const double end = WallSeconds() + arguments.seconds;
  for (std::uint64_t i = 0; i < arguments.runs; ++i) {
    if (arguments.seconds > 0 && WallSeconds() > end) break;
    shared.number = arguments.first + i;
    RunOne(reader, mutator.Make(arguments.seed, shared.number), shared);
    ++shared.done;
  }
}

// The child's end; a child that does not get on is killed.
int WaitFor(pid_t child, Shared& shared) {
  std::uint64_t before = 0;
  double since = WallSeconds();
  for (int status = 0; true; ::usleep(20'000)) {
    if (::waitpid(child, &status, WNOHANG) == child) return status;
    if (shared.done != before) since = WallSeconds();
    before = shared.done;
    if (WallSeconds() - since < kMostHangSeconds || shared.finding) continue;
    std::snprintf(shared.words.data(), shared.words.size(), "hung for %d s", kMostHangSeconds);
    ::kill(child, SIGKILL);
  }
}

std::string HowItEnded(int status, const Shared& shared) {
  if (shared.words[0] != 0) return shared.words.data();
  return WIFSIGNALED(status) ? "ended by signal " + std::to_string(WTERMSIG(status))
                             : "ended with code " + std::to_string(WEXITSTATUS(status));
}

int Report(const Arguments& arguments, int status, const Shared& shared, double seconds) {
  std::cout << arguments.reader << ": " << shared.done << " inputs of seed " << arguments.seed << " from "
            << arguments.first << " in " << std::lround(seconds) << " s; " << shared.refused
            << " refused, slowest " << std::lround(shared.slowest * 1e3) << " ms, most memory "
            << (shared.largest >> 10) << " KiB\n";
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
  const std::string number = std::to_string(shared.number);
  const fs::path file =
      arguments.failures / (arguments.reader + "-" + std::to_string(arguments.seed) + "-" + number);
  fs::create_directories(arguments.failures);
  std::ofstream(file, std::ios::binary).write(shared.input.data(), static_cast<std::streamsize>(shared.size));
  std::cout << "FOUND: input " << number << " " << HowItEnded(status, shared) << "\nit is in "
            << file.string() << "; again: medley_fuzz " << arguments.reader << " --replay " << file.string()
            << "\n";
  return 1;
}

int Run(const Reader& reader, const Arguments& arguments) {
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error("no shared memory");
  auto& shared = *static_cast<Shared*>(memory);
  const std::vector<std::string> corpus = Corpus(reader);
  const WorkingDirectory own;
  const double start = WallSeconds();
  const pid_t child = ::fork();
  if (child == 0) {
    if (arguments.replay.empty()) {
      RunAll(reader, corpus, arguments, shared);
    } else {
      std::cout << RunOne(reader, ReadAll(arguments.replay), shared) << std::endl;
    }
    std::_Exit(0);
  }
  const int status = WaitFor(child, shared);
  return Report(arguments, status, shared, WallSeconds() - start);
}

int Main(int argc, char** argv) {
  CLI::App app("Feeds mutated files to medley's readers.");
  Arguments arguments;
  bool list = false;
  app.add_option("READER", arguments.reader);
  app.add_flag("--list", list);
  app.add_option("--runs", arguments.runs);
  app.add_option("--first", arguments.first);
  app.add_option("--seed", arguments.seed)->envname("MEDLEY_SWEEP");
  app.add_option("--seconds", arguments.seconds);
  app.add_option("--each-byte", arguments.each_byte);
  app.add_option("--failures", arguments.failures);
  app.add_option("--replay", arguments.replay);
  CLI11_PARSE(app, argc, argv);
  arguments.failures = fs::absolute(arguments.failures);
  if (!arguments.replay.empty()) arguments.replay = fs::absolute(arguments.replay);
  for (const Reader& reader : Readers()) {
    if (list) std::cout << reader.name << "\n";
    if (reader.name == arguments.reader) return Run(reader, arguments);
  }
  return list ? 0 : throw Error("no such reader: " + arguments.reader);
}

}  // namespace
}  // namespace medley::fuzz

int main(int argc, char** argv) {
  try {
    return medley::fuzz::Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 2;
  }
}
