-- The tables of rocpd that are read; the numbers are those of the other files here.
CREATE TABLE rocpd_metadata_1 (id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
INSERT INTO rocpd_metadata_1 (tag, value) VALUES ('schema_version', '3');
CREATE TABLE rocpd_info_agent_1 (id INTEGER PRIMARY KEY, guid TEXT, type TEXT, name TEXT, product_name TEXT);
CREATE TABLE rocpd_info_kernel_symbol_1 (id INTEGER PRIMARY KEY, guid TEXT, kernel_name TEXT, display_name TEXT,
  sgpr_count INTEGER, arch_vgpr_count INTEGER, accum_vgpr_count INTEGER);
CREATE TABLE rocpd_kernel_dispatch_1 (id INTEGER PRIMARY KEY, guid TEXT, agent_id INTEGER, kernel_id INTEGER,
  dispatch_id INTEGER, start BIGINT, "end" BIGINT, group_segment_size INTEGER,
  workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER,
  grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER, event_id INTEGER);
CREATE TABLE rocpd_info_pmc_1 (id INTEGER PRIMARY KEY, guid TEXT, name TEXT, symbol TEXT);
CREATE TABLE rocpd_pmc_event_1 (id INTEGER PRIMARY KEY, guid TEXT, event_id INTEGER, pmc_id INTEGER, value REAL);
CREATE VIEW rocpd_metadata AS SELECT * FROM rocpd_metadata_1;
CREATE VIEW rocpd_info_agent AS SELECT * FROM rocpd_info_agent_1;
CREATE VIEW rocpd_info_kernel_symbol AS SELECT * FROM rocpd_info_kernel_symbol_1;
CREATE VIEW rocpd_kernel_dispatch AS SELECT * FROM rocpd_kernel_dispatch_1;
CREATE VIEW rocpd_info_pmc AS SELECT * FROM rocpd_info_pmc_1;
CREATE VIEW rocpd_pmc_event AS SELECT * FROM rocpd_pmc_event_1;
INSERT INTO rocpd_info_agent_1 VALUES (1, 'g', 'CPU', 'a processor', 'a processor'),
  (2, 'g', 'GPU', 'gfx942', 'AMD Instinct MI300X');
INSERT INTO rocpd_info_kernel_symbol_1 VALUES (10, 'g', '_Z4stepPfi.kd', 'step(float*, int)', 24, 32, 0),
  (11, 'g', 'gemm.kd', NULL, 96, 128, 64);
INSERT INTO rocpd_kernel_dispatch_1 VALUES
  (1, 'g', 2, 10, 1, 1000, 4000, 2048, 64, 1, 1, 32768, 2, 1, 101),
  (2, 'g', 2, 10, 2, 6000, 7000, 2048, 64, 1, 1, 32768, 2, 1, 102),
  (3, 'g', 2, 11, 3, 9000, 15000, 65536, 256, 1, 1, 262144, 1, 1, 103);
INSERT INTO rocpd_info_pmc_1 VALUES (31, 'g', 'TCC_HIT_sum', 'TCC_HIT_sum'), (32, 'g', 'TCC_MISS_sum', 'TCC_MISS_sum'),
  (33, 'g', 'MfmaUtil', 'MfmaUtil');
INSERT INTO rocpd_pmc_event_1 (guid, event_id, pmc_id, value) VALUES ('g', 101, 31, 500), ('g', 101, 31, 300),
  ('g', 101, 32, 200), ('g', 102, 31, 600), ('g', 102, 32, 400), ('g', 103, 31, 900), ('g', 103, 32, 100),
  ('g', 103, 33, 41.5), ('another run', 103, 33, 99), ('g', 999, 33, 99);
