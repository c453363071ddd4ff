// Readers with a fault each, which the loop must find: its own test.
#include <cstdlib>
#include <ctime>
#include <stdexcept>

#include <medley/base/error.h>

#include "tests/fuzz/readers.h"

namespace medley::fuzz {
namespace {

// One input in some hundreds.
bool IsRare(const std::string& bytes) {
  return bytes.size() % 8 == 3 && bytes.find("\x80") != std::string::npos;
}

void Throws(const std::string& bytes) {
  if (IsRare(bytes)) throw std::runtime_error("not of medley's");
  if (bytes.size() % 2 == 1) throw Error("as it should");
}

void Crashes(const std::string& bytes) {
  if (IsRare(bytes)) std::abort();
}

void ReadsBeyond(const std::string& bytes) {
  const std::string copy(bytes.size() + 17, 'x');
  volatile std::size_t at = copy.size() + (IsRare(bytes) ? 8 : 0);
  volatile char byte = copy.data()[at];
  static_cast<void>(byte);
}

void IsSlow(const std::string& bytes) {
  const std::clock_t end = std::clock() + (IsRare(bytes) ? 6 * CLOCKS_PER_SEC : 0);  // of the processor
  while (std::clock() < end) {
  }
}

// As a library of C is, or a tensor.
void IsGreedy(const std::string& bytes) {
  void* volatile block = nullptr;
  if (::posix_memalign(const_cast<void**>(&block), 64, IsRare(bytes) ? std::size_t{1} << 28 : 64) == 0)
    std::free(block);
}

void RefusesAll(const std::string&) { throw Error("nothing is good enough"); }

}  // namespace

std::vector<Reader> Readers() {
  std::vector<Reader> readers = {
      {"throws", true, Throws},  {"crashes", true, Crashes},    {"reads_beyond", true, ReadsBeyond},
      {"is_slow", true, IsSlow}, {"is_greedy", true, IsGreedy}, {"refuses_all", true, RefusesAll}};
  for (Reader& reader : readers) reader.corpus = "json";
  return readers;
}

}  // namespace medley::fuzz
