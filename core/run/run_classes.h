#pragma once

#include <set>
#include <string>

#include <medley/plugin/plugin_host.h>
#include <medley/run/run.h>

namespace medley {

// Lets the model have as many classes as the named tasks have by their files, where its own file leaves that
// out: before it is made. Loads the plugins of tasks that ask a model for classes, of no others.
void FollowClasses(const PluginHost& host, Run& run);

// Parameters that begin anew though the run begins with those of another (init_from): those whose shape hangs
// on the number of classes, where that run's are called otherwise, as many as they may be.
std::set<std::string> ParametersOfNewClasses(const Run& run);

}  // namespace medley
