/// Meshes from files, whatever their format.
#ifndef FIRN_MESH_FILE_H
#define FIRN_MESH_FILE_H

#include "firn/abc_scene.h"
#include "firn/params.h"
#include "firn/usd_scene.h"
#include "firn/vec.h"

/// A polygon mesh; corners run counter-clockwise seen from outside.
typedef struct firn_mesh {
    size_t vertex_count;
    firn_vec3 *position;
    firn_vec3 *velocity; // per second; NULL: the file tells none
    bool stored;         // velocity comes from the file, not from its own samples
    size_t face_count;
    int32_t *face_size; // 3 or more each
    size_t corner_count;
    int32_t *corner;
    size_t skipped; // faces with fewer than three corners, which are left out
} firn_mesh;

void firn_mesh_free(firn_mesh *mesh);

/// Leaves out faces of one or two corners, which have no area, and those that are marked.
void firn_mesh_skip_faces(firn_mesh *mesh, const bool *marked);

/// True when vertices of the same number are the same point of the surface.
bool firn_mesh_same_topology(const firn_mesh *a, const firn_mesh *b);

/// A copy of a mesh; or of the mesh between two of one topology, without velocities.
firn_result firn_mesh_mix(const firn_mesh *a, const firn_mesh *b, double share, firn_mesh *mesh,
                          firn_error *error);

/// How subdivision surfaces of archives are refined.
typedef struct firn_subd_def {
    int level;  // steps, each of which quarters the faces; 0: the cage; -1: by the edge
    float edge; // units of the file; what edges are brought down to
} firn_subd_def;

firn_param_table firn_subd_params(void);

/// Archives that stand over another one, the later over the earlier; "": none.
typedef struct firn_layer_def {
    char layer[FIRN_TEXT_SIZE], layer_2[FIRN_TEXT_SIZE];
} firn_layer_def;

firn_param_table firn_layer_params(void);

/// The layer that a parameter stands for; NULL: it is another parameter.
const char *firn_layer_of(const firn_layer_def *layers, const firn_param *param);

/// A file that stays open from one mesh to the next.
typedef struct firn_mesh_file {
    char path[4096];
    firn_abc *archive;   // of an Alembic file
    firn_usd_scene *usd; // of a USD file
    firn_subd_def subd;  // set by whoever opens it, as the layers
    firn_layer_def layers;
    int number; // that stands in the names of numbered layers
    struct firn_limit_surfaces *limits;
    bool ranged;                  // what is selected in it is animated
    double first_time, last_time; // s, when ranged
} firn_mesh_file;

void firn_mesh_file_close(firn_mesh_file *file);

/// Opens a file, unless it is open already; object selects meshes of an archive, "" all.
firn_result firn_mesh_file_open(firn_mesh_file *file, const char *path, const char *object,
                                firn_error *error);

/// What the file records of its units and axes, as "metersPerUnit=0.01;upAxis=Z"; "": nothing.
const char *firn_mesh_file_metadata(const firn_mesh_file *file);

/// What else an archive holds, as firn_abc_leftover says it; "" for other files.
void firn_mesh_file_leftover(const firn_mesh_file *file, const char *object, char *text,
                             size_t size);

/// Reads the mesh at a time (s), in the units of the file. The message of a failure names the file.
firn_result firn_mesh_file_read(firn_mesh_file *file, const char *object, double time,
                                firn_mesh *mesh, firn_error *error);

#endif
