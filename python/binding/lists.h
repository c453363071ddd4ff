#pragma once

#include "python/binding/python.h"

#include <filesystem>
#include <string>
#include <vector>

namespace medley::python {

inline std::vector<std::string> Texts(PyObject* list) {
  std::vector<std::string> texts;
  ForEachOf(list, [&](PyObject* item) { texts.push_back(Text(item)); });
  return texts;
}

inline std::vector<std::filesystem::path> Paths(PyObject* list) {
  std::vector<std::filesystem::path> paths;
  ForEachOf(list, [&](PyObject* item) { paths.emplace_back(Text(item)); });
  return paths;
}

}  // namespace medley::python
