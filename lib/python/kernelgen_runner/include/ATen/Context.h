// Left out: every operator's header asks for it, at a third of the cost of all of them, and none uses it.
#pragma once
