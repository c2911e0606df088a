// Stands in for the driver's header, of which kernels need nothing that the runtime's has not.
#pragma once
#include "simt.h"
