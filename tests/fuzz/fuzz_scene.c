#include "firn/graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

// Whatever loads can be checked, hashed, printed and loaded again.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    firn_graph *graph = NULL, *again = NULL;
    if (firn_graph_load_memory((const char *)bytes, size, "fuzz", ".", &graph, NULL) != FIRN_OK)
        return 0;
    firn_graph_validate(graph, NULL, NULL, NULL);
    char *text = NULL;
    size_t length = 0;
    if (firn_graph_print(graph, false, &text, NULL) == FIRN_OK)
        for (length = 0; text[length] != '\0';)
            length++;
    if (text != NULL)
        firn_graph_load_memory(text, length, "printed", ".", &again, NULL);
    firn_free(text);
    firn_graph_destroy(again);
    firn_graph_destroy(graph);
    return 0;
}
