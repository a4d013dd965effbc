// Names of Nigeria as people write them, with the letters and marks of their languages, and as banks store them.
// Gathered from public lists of Yoruba, Igbo, Hausa, Fulani, Edo, Urhobo, Efik and other names.

/** `written=STORED`, all different. */
const TABLE = `
Adéọlá=ADEOLA Adéwálé=ADEWALE Ayọ̀=AYO Bísí=BISI Bọ́lá=BOLA Dámilọ́lá=DAMILOLA Ẹniọlá=ENIOLA Fúnmi=FUNMI Ifẹ́=IFE
Kẹ́hìndé=KEHINDE Morẹ́nikẹ́=MORENIKE Ọlámidé=OLAMIDE Olúwadámilọ́lá=OLUWADAMILOLA Táíwò=TAIWO Títílọ́pẹ́=TITILOPE
Tólú=TOLU Yétúndé=YETUNDE Abíọ́lá=ABIOLA Adérónkẹ́=ADERONKE Ayọ̀délé=AYODELE Bábátúndé=BABATUNDE Dáyọ̀=DAYO
Dúpẹ́=DUPE Fọláṣadé=FOLASADE Ìdòwú=IDOWU Kọ́láwọlé=KOLAWOLE Mọ́pẹ́lọ́lá=MOPELOLA Ọlúwafẹ́mi=OLUWAFEMI Rótìmí=ROTIMI
Ṣẹ́gun=SEGUN Yẹ́misí=YEMISI Adébáyọ̀=ADEBAYO Adégòkè=ADEGOKE Adéyẹmí=ADEYEMI Àjàyí=AJAYI Akínyẹmí=AKINYEMI
Babalọlá=BABALOLA Bánkọ́lé=BANKOLE Dáramọ́lá=DARAMOLA Fálọlá=FALOLA Fáṣínà=FASINA Ọládìpọ̀=OLADIPO Ọláníyàn=OLANIYAN
Ọlátúnjí=OLATUNJI Ọnì=ONI Oyèlówó=OYELOWO Ṣóníbarẹ́=SONIBARE Adéjùmọ̀=ADEJUMO Adékúnlé=ADEKUNLE Adéṣínà=ADESINA
Akíntọ́lá=AKINTOLA Awólọ́wọ̀=AWOLOWO Bádéjọ=BADEJO Fábùnmi=FABUNMI Fádípẹ̀=FADIPE Fáníyì=FANIYI Fátóyè=FATOYE
Ọlátúnbọ̀sún=OLATUNBOSUN Olúwọlé=OLUWOLE Ọmọ́táyọ̀=OMOTAYO Onífádé=ONIFADE Oyèdìran=OYEDIRAN Ọbáfẹ́mi=OBAFEMI
Ògúnlànà=OGUNLANA Ọ̀ṣúnbọ̀=OSUNBO Ṣàngódélé=SANGODELE Èṣùbìyí=ESUBIYI Ìyábọ̀=IYABO Mojísọ́lá=MOJISOLA
Títíláyọ̀=TITILAYO Omolará=OMOLARA Ọmọ́wùnmí=OMOWUNMI Ọláyínká=OLAYINKA Olúṣọlá=OLUSOLA Fẹ́lá=FELA Àyìnkẹ́=AYINKE
Àbẹ̀kẹ́=ABEKE Wúràọlá=WURAOLA Ẹ̀bùn=EBUN Tèmítọ́pẹ́=TEMITOPE Ayọ̀kúnlé=AYOKUNLE Ṣíjúwọlá=SIJUWOLA Jídé=JIDE
Ọláolúwa=OLAOLUWA Àkàndé=AKANDE Ọlọ́runtóba=OLORUNTOBA Ìbíyẹmí=IBIYEMI Olúfúnkẹ́=OLUFUNKE
Chị́nẹ́dụ=CHINEDU Chiọma=CHIOMA Ngọzị=NGOZI Ọbịnna=OBINNA Ụzọma=UZOMA Ọnyịnyechi=ONYINYECHI Ịfẹọma=IFEOMA
Ọgọchukwu=OGOCHUKWU Chukwụdị=CHUKWUDI Ekwụeme=EKWUEME Nkịrụ=NKIRU Ụdọka=UDOKA Ụgochi=UGOCHI Ọkẹchukwu=OKECHUKWU
Amarachị=AMARACHI Chidịnma=CHIDINMA Ńnamdị=NNAMDI Ǹnenna=NNENNA Ọlụchị=OLUCHI Ọnụoha=ONUOHA Azụka=AZUKA
Ụchenna=UCHENNA Akụnna=AKUNNA Ọkọrọ=OKORO Mmadụabụchi=MMADUABUCHI Nwakaego=NWAKAEGO Ọzọemena=OZOEMENA
Chikaọdịlị=CHIKAODILI Ụbaka=UBAKA Ịheanyị=IHEANYI Nwọkoye=NWOKOYE Ọdinaka=ODINAKA Ọkafọ=OKAFO Ọnwụka=ONWUKA
Ọjịakọ=OJIAKO Chinẹnye=CHINENYE Ụkamaka=UKAMAKA Ọsịnachi=OSINACHI Ọkpara=OKPARA Nwabụeze=NWABUEZE Chizọba=CHIZOBA
Adaọbị=ADAOBI Ezịnne=EZINNE Ifeanyịchukwu=IFEANYICHUKWU Ṅwanyịọcha=NWANYIOCHA Ọdịnkemelu=ODINKEMELU Ụwakwe=UWAKWE
Ọkwụdịlị=OKWUDILI Chiṅọnso=CHINONSO Ịkenna=IKENNA Ọgbọnna=OGBONNA Mgbafọ=MGBAFO Nwafọ=NWAFO Ọgụejiofor=OGUEJIOFOR
Anyịam=ANYIAM
Ɓaturiya=BATURIYA Ɗanladi=DANLADI Ɗantata=DANTATA Ɗanasabe=DANASABE Ɗanlami=DANLAMI Ƙwairanga=KWAIRANGA Ƙofar=KOFAR
Ƙaraye=KARAYE Ƴakubu=YAKUBU Ƴaraduwa=YARADUWA Ƴar'adua=YARADUA Sa'adatu=SAADATU Sa'idu=SAIDU Mu'azu=MUAZU
Ma'aruf=MAARUF Isma'il=ISMAIL Rabi'u=RABIU Shu'aibu=SHUAIBU Ya'u=YAU Na'ibi=NAIBI Ka'oje=KAOJE Nu'man=NUMAN
Ruƙayya=RUKAYYA Haɗiza=HADIZA Faɗima=FADIMA Aɓɓa=ABBA Saɗiya=SADIYA Ɗahiru=DAHIRU Baɓangida=BABANGIDA Ɗauda=DAUDA
Isyaƙu=ISYAKU Ƙasimu=KASIMU Ibrāhīm=IBRAHIM Ādamu=ADAMU Aminā=AMINA Mūsā=MUSA Bēllo=BELLO Ɗanbaba=DANBABA
Ɗankwambo=DANKWAMBO Ɗanfulani=DANFULANI Ƙwankwaso=KWANKWASO Jibrîl=JIBRIL Ummulkhaɗri=UMMULKHADRI Maƙarfi=MAKARFI
Zulƙifilu=ZULKIFILU Abdu-Rashid=ABDURASHID Abdul-Azeez=ABDULAZEEZ Abdul‑Lateef=ABDULLATEEF Abd'Allah=ABDALLAH
T'mbuk=TMBUK Ọsazuwa=OSAZUWA Ẹfosa=EFOSA Ọsarẹtin=OSARETIN Ẹhis=EHIS Ọmọruyi=OMORUYI Igbínẹ́dion=IGBINEDION
Ọghẹnẹ=OGHENE Ẹguonọ=EGUONO Ọghẹnẹkarọ=OGHENEKARO Oborẹvwori=OBOREVWORI Tamunoibî=TAMUNOIBI Ipalibọ=IPALIBO
Datẹme=DATEME Ńsikak=NSIKAK Inî=INI Ẹkanem=EKANEM Ọkọn=OKON Ntụen=NTUEN Mnguhẹnen=MNGUHENEN Tẹrkula=TERKULA
Ashi-Wua=ASHIWUA Ene-Obong=ENEOBONG Ọkpẹ́=OKPE ɔkɔi=OKOI Efiɔŋ=EFION Asuquɔ=ASUQUO Effiɔm=EFFIOM ŋgbasi=NGBASI
Kɛfas=KEFAS Mɛmuna=MEMUNA Dɔrathy=DORATHY O'Dwyer=ODWYER D'Almeida=DALMEIDA Obi-Eze=OBIEZE Ben-Kalio=BENKALIO
Wilcox-Wigwe=WILCOXWIGWE
`;

export const NAMES: readonly (readonly [written: string, stored: string])[] = TABLE.trim()
  .split(/\s+/)
  .map((pair) => pair.split('=') as [string, string]);
