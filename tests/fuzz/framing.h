#pragma once

#include <string>

namespace medley::fuzz {

// A mutated file with its lengths and sums put right, so that a reader looks at what stands behind them.

// Records of TensorFlow's: lengths that fit, both checksums.
std::string WithRecordSums(std::string bytes);
// A PNG's chunks: lengths that fit, the checksum.
std::string WithChunkSums(std::string bytes);
// A file of which this is the header of JSON: its length before it, and behind it as many bytes as it names,
// at most 1 MiB.
std::string AsSafetensors(const std::string& header);

}  // namespace medley::fuzz
