#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <medley/model/model.h>

namespace medley {

// Files of named tensors that every safetensors tool opens: 8 bytes with the header's length, a JSON header,
// the raw values. Names are sorted and values follow one another, so the same tensors give the same bytes.

// Hands the file's bytes to the sink in order. Tensors may live on any device and need not be contiguous;
// names must be unique, and no two that follow one another empty.
// `as`: the type of floating values in the file, converted tensor by tensor; none: their own.
void WriteSafetensors(const std::vector<Parameter>& tensors,
                      const std::map<std::string, std::string>& metadata,
                      const std::function<void(const void*, std::size_t)>& sink,
                      std::optional<at::ScalarType> as = std::nullopt);
// The bytes that WriteSafetensors will hand out.
std::int64_t SafetensorsSize(const std::vector<Parameter>& tensors,
                             const std::map<std::string, std::string>& metadata,
                             std::optional<at::ScalarType> as = std::nullopt);
// Those of one tensor, its name not counted.
std::int64_t SafetensorsBytes(const at::Tensor& tensor, std::optional<at::ScalarType> as = std::nullopt);

// The tensors of a file, on the CPU. Made for files from strangers: everything that the header claims is
// checked against the file's size before memory is asked for. Throws InputError that names the file and the
// tensor.
std::map<std::string, at::Tensor> ReadSafetensors(const std::filesystem::path& file);
// The same, mapped: values come from the disk when they are first touched, count in no budget, and writing to
// them changes this process's copy alone. The file must not get shorter meanwhile: touching what is gone ends
// the process (SIGBUS).
std::map<std::string, at::Tensor> MapSafetensors(const std::filesystem::path& file);

}  // namespace medley
