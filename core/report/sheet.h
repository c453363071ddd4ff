#pragma once

#include <string>
#include <vector>

#include <medley/report/picture.h>

namespace medley {

// A sheet: cells[row][column] on a grey ground, under the columns' headings where there are some, each row
// behind its number, from 1. A column is as wide as its widest cell or heading; empty cells are none. An
// Error where there is no picture.
Picture MakeSheet(const std::vector<std::vector<Picture>>& cells, const std::vector<std::string>& headings);
// Whether it can be one: the ground is all around it, as in every sheet since the first.
bool HasSheetsFrame(const Picture& picture);

}  // namespace medley
