#pragma once

#include <string>

#include <medley/runs/group_comparison.h>

namespace medley {

// One page of HTML with all that it needs in it: what must be read first, a picture by task of each seed's
// score and the groups' intervals, and the tables.
std::string GroupsPage(const GroupComparison& comparison);

}  // namespace medley
