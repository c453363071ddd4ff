// medley_bench_records DIRECTORY [ITEMS]: a JSONL file of so many items, found, found and checked for the
// first time, and opened again; items read at places of a shuffled order, against the plainest loop over the
// file; and a folder of 300 tables, of which each row opens one.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <medley/base/random.h>
#include <medley/data/csv_file.h>
#include <medley/data/item_stream.h>
#include <medley/data/jsonl_file.h>
#include <medley/data/record_index.h>

namespace {

namespace fs = std::filesystem;
using medley::ItemStream;
using medley::JsonlFile;

template <typename Fn>
double Seconds(const Fn& fn) {
  const auto start = std::chrono::steady_clock::now();
  fn();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void WriteItems(const fs::path& file, std::int64_t items) {
  std::ofstream out(file, std::ios::binary);
  medley::RowRandom random(7);
  std::string line;
  for (std::int64_t i = 0; i < items; ++i) {
    line = "{\"id\": " + std::to_string(i) + ", \"text\": \"" +
           std::string(static_cast<std::size_t>(20 + random.Below(60)), 'x') + "\"}\n";
    out.write(line.data(), static_cast<std::streamsize>(line.size()));
  }
}

std::int64_t CountLines(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::int64_t lines = 0;
  for (std::string line; std::getline(in, line);) ++lines;
  return lines;
}

// Microseconds an item, at `count` rows of a stream from row `first` on.
double PerItem(const JsonlFile& file, const ItemStream& stream, std::int64_t first, std::int64_t count) {
  const medley::RowRange rows{.seed = 3, .begin = first, .count = count};
  std::int64_t sum = 0;
  const double seconds = Seconds([&] {
    for (std::int64_t row = first; row < first + count; ++row)
      sum += file.Read(stream.ItemOf(rows, row)).Integer("id");
  });
  if (sum < 0) std::abort();  // so that reading is not optimized away
  return seconds / static_cast<double>(count) * 1e6;
}

// Microseconds a row, where a task opens the row's file, and where it has them all open.
void TellOfAFolder(const fs::path& folder) {
  constexpr std::int64_t kFiles = 300, kLines = 200, kRows = 6'000;
  fs::create_directories(folder);
  std::vector<fs::path> files;
  for (std::int64_t file = 0; file < kFiles; ++file) {
    files.push_back(folder / (std::to_string(file) + ".csv"));
    std::ofstream out(files.back());
    out << "id,text\n";
    for (std::int64_t line = 0; line < kLines; ++line) out << line << ',' << std::string(60, 'x') << '\n';
  }
  medley::RowRandom random(7);
  std::size_t bytes = 0;
  const auto per_row = [&](const auto& read) {
    const double seconds = Seconds([&] {
      for (std::int64_t row = 0; row < kRows; ++row)
        bytes += read(static_cast<std::size_t>(random.Below(kFiles)), random.Below(kLines)).at(1).size();
    });
    return seconds / kRows * 1e6;
  };
  const auto open_one = [&](std::size_t file, std::int64_t item) {
    return medley::CsvFile(files[file]).Read(item);
  };
  const double first = per_row(open_one), opened = per_row(open_one);
  std::vector<medley::CsvFile> open(files.begin(), files.end());
  const double held = per_row([&](std::size_t file, std::int64_t item) { return open[file].Read(item); });
  if (bytes == 0) std::abort();
  std::printf(
      "a row of one of %lld tables       %8.2f us where it is opened for the row, %.2f at first; %.2f us "
      "where "
      "all are open: %.1fx\n",
      static_cast<long long>(kFiles), opened, first, held, opened / held);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "medley_bench_records DIRECTORY [ITEMS]: needs about 100 bytes of room an item\n");
    return 2;
  }
  const fs::path directory = argv[1], file = directory / "items.jsonl";
  const std::int64_t items = argc > 2 ? std::atoll(argv[2]) : 10'000'000;
  fs::create_directories(directory);
  setenv("XDG_CACHE_HOME", (directory / "cache").c_str(), 1);
  fs::remove_all(directory / "cache");
  WriteItems(file, items);
  std::printf("%lld items, %.0f MB\n", static_cast<long long>(items),
              static_cast<double>(fs::file_size(file)) / 1e6);
  std::int64_t lines = 0;
  const double plain = Seconds([&] { lines = CountLines(file); });  // and the file is in the page cache
  const double found = Seconds([&] { medley::RecordIndex made(file, medley::RecordIndex::Format::kLines); });
  const double first = Seconds([&] { JsonlFile made(file); });
  const double again = Seconds([&] { medley::RecordIndex made(file, medley::RecordIndex::Format::kLines); });
  std::printf("a loop of getline over it        %8.3f s (%lld lines)\n", plain,
              static_cast<long long>(lines));
  std::printf("every record found               %8.3f s, %.2fx of that loop\n", found, found / plain);
  std::printf("first start: found and checked   %8.3f s, %.2fx of that loop\n", first, first / plain);
  std::printf("every start after that           %8.6f s, %.0fx less than that loop\n", again, plain / again);
  const JsonlFile made(file);
  const ItemStream stream(made.size(), made.size() / 100, "bench");
  constexpr std::int64_t kRows = 200'000;
  const double near = PerItem(made, stream, 0, kRows);
  const double far = PerItem(made, stream, 1'000'000'000'000, kRows);
  std::printf("an item of the stream            %8.2f us at row 0, %.2f us at row 10^12: %.2fx\n", near, far,
              far / near);
  TellOfAFolder(directory / "tables");
  return 0;
}
